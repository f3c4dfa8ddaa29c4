"""A DNN as what its training sends and computes: layers in forward order, each with its tensors and its share of the
work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

__all__ = ["ELEMENT_BYTES", "Layer", "Model", "layer_times", "scaled_layers", "single_layer"]

ELEMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    tensors: tuple[int, ...]
    """elements of each of its gradients, in the order of the parameters"""
    work: int = 0
    """multiply-accumulates of its forward pass, per sample; says how time is shared among the layers of one model"""
    forward_ns: int = 0
    """measured time; 0: not measured"""
    backward_ns: int = 0

    @property
    def elements(self) -> int:
        return sum(self.tensors)


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    layers: tuple[Layer, ...]
    """layers in forward order; backward goes the other way"""

    @property
    def elements(self) -> int:
        return sum(layer.elements for layer in self.layers)

    @property
    def tensors(self) -> int:
        return sum(len(layer.tensors) for layer in self.layers)

    @property
    def forward_ns(self) -> int:
        """Measured time of all layers."""
        return sum(layer.forward_ns for layer in self.layers)

    @property
    def backward_ns(self) -> int:
        return sum(layer.backward_ns for layer in self.layers)


def single_layer(elements: int) -> Model:
    """A gradient with a known size and nothing else: all of it is ready at once."""
    return Model("", (Layer("gradient", (elements,)),))


def scaled_layers(model: Model, scale: int, packet_elements: int) -> tuple[int, ...]:
    """Elements of each layer when tensors are divided by `scale`, but not below a packet, nor above their own size."""
    return tuple(sum(_scaled(tensor, scale, packet_elements) for tensor in layer.tensors) for layer in model.layers)


def _scaled(elements: int, scale: int, packet_elements: int) -> int:
    return max(-(-elements // scale), min(elements, packet_elements))


def layer_times(model: Model, forward_ns: int, backward_ns: int) -> tuple[tuple[int, int], ...]:
    """Per layer (forward, backward) in ns, for passes of `forward_ns` and `backward_ns` in total. The total is shared
    by measured times, else by work, else by elements."""
    layers = model.layers
    forward = _first_known(
        [layer.forward_ns for layer in layers],
        [layer.backward_ns for layer in layers],
        [layer.work for layer in layers],
        [layer.elements for layer in layers],
    )
    backward = _first_known([layer.backward_ns for layer in layers], forward)
    return tuple(zip(_shares(forward_ns, forward), _shares(backward_ns, backward), strict=True))


def _first_known(*weights: Sequence[int]) -> Sequence[int]:
    return next(found for found in weights if sum(found))


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Whole numbers in proportion to `weights`, whose sum is `total`."""
    reached = list(accumulate(weights))
    ends = [total * so_far // reached[-1] for so_far in reached]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]

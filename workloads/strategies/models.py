"""Chains of known networks: a reconstruction from the shapes of their layers.

Weights are those of `workloads.models` (the architectures' own parameters). The output of an operator follows from them
too. A convolution uses each of its weights once for each pixel of its output. So the output has (multiply-accumulates /
weights) pixels. It has as many channels as the convolution has biases, or scales of its normalisation. A pool between
two layers is not counted: an operator hands on its own output. A residual block is one operator, since nothing else
makes a chain of ResNet. Its weights are those of its convolutions, and it hands on the output of its last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from workloads.errors import ScenarioError
from workloads.models import Layer, create_model
from workloads.strategies.chain import Chain, Operator

__all__ = ["CHAIN_NAMES", "DEFAULT_BATCH", "DEFAULT_DEVICE_FLOPS", "chain_of_model", "output_elements"]

CHAIN_NAMES = ("alexnet", "vgg16", "resnet50")
DEFAULT_BATCH = 32
DEFAULT_DEVICE_FLOPS = 10e12
_ELEMENT_BYTES = 4
_FLOPS_PER_MAC = 2
_PASSES = 3
"""a backward pass computes two gradients where a forward pass computes one value"""
_NS_PER_S = 1_000_000_000


def chain_of_model(name: str, batch: int = DEFAULT_BATCH, device_flops: float = DEFAULT_DEVICE_FLOPS) -> Chain:
    """`batch`: images of one iteration, all devices together; `device_flops`: floating-point operations per second of
    one of them. Raises ScenarioError for another name."""
    if name not in CHAIN_NAMES:
        raise ScenarioError("no such chain", key="chain", found=f"'{name}'", allowed=", ".join(CHAIN_NAMES))
    blocks = groupby(create_model(name).layers, _block_of)
    return Chain(name, tuple(_operator(block, list(layers), batch, device_flops) for block, layers in blocks))


def output_elements(layer: Layer) -> int:
    """Elements of the output of a convolution or dense layer with its multiply-accumulates, for one image."""
    weights, channels = layer.tensors[0], layer.tensors[1]
    return channels * (layer.work // weights)


def _block_of(layer: Layer) -> str:
    """`stage2.block1.conv3` is in `stage2-block1`."""
    return layer.name.rpartition(".")[0].replace(".", "-") or layer.name


def _operator(name: str, layers: Sequence[Layer], batch: int, device_flops: float) -> Operator:
    last = next(layer for layer in reversed(layers) if not layer.name.endswith(".shortcut"))
    flops = _PASSES * _FLOPS_PER_MAC * batch * sum(layer.work for layer in layers)
    return Operator(
        name,
        _ELEMENT_BYTES * sum(layer.elements for layer in layers),
        _ELEMENT_BYTES * batch * output_elements(last),
        round(flops / device_flops * _NS_PER_S),
    )

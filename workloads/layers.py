"""What a worker computes before it can send, layer by layer. Values only, as in `workloads.config`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ComputeConfig", "LayerConfig"]


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """One layer of a model: what a worker computes before it can send."""

    elements: int
    forward_ns: int
    backward_ns: int


@dataclass(frozen=True, slots=True)
class ComputeConfig:
    """How long a worker computes, layer by layer. The gradient holds the layers in the order in which backward emits
    them: the last one first."""

    layers: tuple[LayerConfig, ...]
    """forward order"""
    jitter: float = 0.0
    """each pass over a layer takes up to that share longer or shorter; below 1"""
    slowdown: float = 1.0
    """factor by which this worker takes longer"""
    in_stages: bool = False
    """each layer is computed, backward, when the result of the one in front of it in the gradient is there"""

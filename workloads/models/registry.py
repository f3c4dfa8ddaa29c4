"""Models by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from workloads.models.language import bert_base, bert_large, gpt2
from workloads.models.layers import Model
from workloads.models.vision import alexnet, resnet50, vgg16

__all__ = ["create_model", "model_names"]

_MODELS: dict[str, Callable[[], Model]] = {
    "alexnet": alexnet,
    "vgg16": vgg16,
    "resnet50": resnet50,
    "bert-base": bert_base,
    "bert-large": bert_large,
    "gpt2": gpt2,
}


def model_names() -> tuple[str, ...]:
    return tuple(_MODELS)


@cache
def create_model(name: str) -> Model:
    """Raises KeyError when there is none of that name."""
    return _MODELS[name]()

"""The two keys that say which layers a gradient has: `model` by name or CSV file, `layers` one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from testbed.reading.fields import DurationKey, TextKey, refuse, whole_or_list
from testbed.reading.keytypes import At, KeyType, Plain, Refer, Told
from testbed.reading.problems import closest, show
from testbed.reading.sections import Key, declare_keys, read_section, write_section
from testbed.reading.yamlfile import read_text
from testbed.scenario.overrides import SET_FILE
from workloads.errors import ScenarioError
from workloads.models import Layer, Model, create_model, model_names, parse_model

__all__ = ["LayersType", "ModelType"]

_ELEMENTS = whole_or_list(1, 1 << 32)


def _tensors(value: Any) -> tuple[int, ...]:
    found = _ELEMENTS.parse(value)
    return found if isinstance(found, tuple) else (found,)


def _elements(tensors: tuple[int, ...]) -> int | list[int]:
    return tensors[0] if len(tensors) == 1 else list(tensors)


declare_keys(
    Layer,
    name=(Annotated[TextKey, Key("layer")], "its name"),
    tensors=(
        Annotated[tuple[int, ...], Plain(_tensors, _elements, _ELEMENTS.json_schema), Key("elements")],
        "elements of its gradient; a list, one number for each tensor",
    ),
    forward_ns=(DurationKey, "as measured; 0: not measured"),
    backward_ns=(DurationKey, "as measured; 0: not measured"),
)


def _is_built_in(model: Model) -> bool:
    return model.name in model_names() and model == create_model(model.name)


@dataclass(frozen=True, slots=True)
class ModelType(KeyType):
    """A built-in by name, or the path of a CSV file, from the folder of the file that names it."""

    def read(self, value: Any, at: At) -> Model:
        if not isinstance(value, str):
            raise refuse("not text", "text", "quote it" if isinstance(value, (int, float)) else None)
        if not value.endswith(".csv"):
            known = model_names()
            if value in known:
                return create_model(value)
            raise refuse(
                "no such model", f"{', '.join(known)}, or the path of a CSV file (*.csv)", closest(value, known)
            )
        here = Path() if at.problems.place(at.path).file == SET_FILE else at.problems.folder
        try:
            return parse_model(read_text(here / value, value), value, value)
        except ScenarioError as error:
            at.problems.relay(at.path, error)
            raise Told from None

    def write(self, value: Model) -> str | None:
        return value.name if _is_built_in(value) else None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(model_names())}, {"type": "string", "pattern": "[.]csv$"}]}


@dataclass(frozen=True, slots=True)
class LayersType(KeyType):
    """A list of layers, in forward order."""

    def read(self, value: Any, at: At) -> Model:
        if not isinstance(value, list) or not value:
            raise refuse("not a list of layers", "one per `- layer: ...`, in forward order")
        before, layers = len(at.problems), list[Layer]()
        for index, entry in enumerate(value):
            layer = read_section(at / index, entry, Layer, "the layer")
            if layer is None:
                continue
            if layer.name in [other.name for other in layers]:
                (at / index / "layer").add("two layers of one name", found=show(layer.name))
            layers.append(layer)
        if len(at.problems) > before:
            raise Told
        return Model("", tuple(layers))

    def write(self, value: Model) -> Sequence[Any] | None:
        return None if _is_built_in(value) else [write_section(layer) for layer in value.layers]

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "array", "items": refer(Layer), "minItems": 1}

    def sections(self) -> tuple[type, ...]:
        return (Layer,)

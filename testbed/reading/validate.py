"""One section of a file -> its keys. Every problem is reported with file, line, key, what was found and what is
allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from testbed.reading.problems import KeyPath, Problems, closest, show

__all__ = ["InventorySection", "key_names", "validate_mapping", "validate_section"]


class InventorySection(BaseModel):
    """A mapping of an inventory file: unknown keys are refused, nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


_S = TypeVar("_S", bound=InventorySection)


def key_names(model: type[InventorySection]) -> list[str]:
    """As they stand in a file, in the order of the documentation."""
    return [field.alias or name for name, field in model.model_fields.items()]


def validate_mapping(problems: Problems, path: KeyPath, value: object, what: str) -> dict[str, Any] | None:
    """`value` where it is a mapping; otherwise None and a problem."""
    if isinstance(value, Mapping):
        return dict(value)
    problems.add(path, f"{what} is not a mapping", found=show(value), allowed="keys with values, one per line")
    return None


def validate_section(problems: Problems, path: KeyPath, value: object, model: type[_S], what: str) -> _S | None:
    """The section, or None when it has problems (they are reported)."""
    data = validate_mapping(problems, path, value, what)
    if data is None:
        return None
    empty = {key for key, item in data.items() if item is None and key in key_names(model)}
    for key in sorted(empty):
        problems.add((*path, key), "has no value", allowed="a value, or leave the key out")
    try:
        section = model.model_validate(data)
    except ValidationError as error:
        _tell(problems, path, data, model, empty, error)
        return None
    return None if empty else section


def _tell(
    problems: Problems,
    path: KeyPath,
    data: dict[str, Any],
    model: type[InventorySection],
    skip: set[str],
    error: ValidationError,
) -> None:
    reported = set(skip)
    for item in sorted(error.errors(), key=lambda item: item["type"] != "refused"):
        key = str(item["loc"][0])
        if key in reported:
            continue
        reported.add(key)
        here, found = (*path, key), show(data.get(key))
        if item["type"] == "extra_forbidden":
            known = key_names(model)
            problems.add(here, "unknown key", allowed=", ".join(known), hint=closest(key, known))
        elif item["type"] == "missing":
            problems.add(here, "is missing", allowed=_allowed(model, key))
        else:
            more = item.get("ctx", {})
            problem = str(more.get("problem", item["msg"]))
            problems.add(here, problem, found=found, allowed=more.get("allowed"), hint=more.get("hint"))


def _allowed(model: type[InventorySection], key: str) -> str | None:
    """What a key may hold, in the words of its own check, or of its field where it is checked later."""
    try:
        model.model_validate({key: None})
    except ValidationError as error:
        for item in error.errors():
            if item["loc"][0] == key and item["type"] == "refused":
                allowed = item["ctx"]["allowed"]
                return None if allowed is None else str(allowed)
    return model.model_fields[key].description

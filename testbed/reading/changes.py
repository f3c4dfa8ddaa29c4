"""Sections that say what is different: of the keys of another section, those that a file holds."""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass, replace
from typing import Any, TypeVar

from testbed.reading.sections import NOT_GIVEN, Section, declared, keys_of

__all__ = ["changes_of", "difference", "with_changes"]

_S = TypeVar("_S")


def changes_of(section: type, name: str) -> type:
    """A section of the same keys, for a file that holds only the keys that differ from something. A key that it does
    not hold is NOT_GIVEN."""
    made = make_dataclass(
        name, [(item.name, Any, field(default=NOT_GIVEN)) for item in fields(section)], bases=(Section,), frozen=True
    )
    declared(made, tuple(replace(key, default=NOT_GIVEN) for key in keys_of(section)))
    return made


def with_changes(value: _S, changes: Any) -> _S:
    """`value` with what the changes hold."""
    found = {item.name: getattr(changes, item.name) for item in fields(changes)}
    return replace(value, **{name: item for name, item in found.items() if item is not NOT_GIVEN})  # type: ignore[type-var]


def difference(value: Any, base: Any, changes: type) -> Any:
    """The changes that make `value` of `base`."""
    names = [item.name for item in fields(changes)]
    return changes(**{name: getattr(value, name) for name in names if getattr(value, name) != getattr(base, name)})

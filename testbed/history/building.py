"""A compiled `__init__` for events and records. A run builds hundreds of thousands of them.

The `__init__` of a frozen dataclass sets each field by a call of `object.__setattr__`. The compiled one writes the
fields into their slots. It needs all fields, by position. Every other call goes to the generated `__init__`, which also
makes the error messages.
"""

from __future__ import annotations

import dataclasses
from types import MemberDescriptorType
from typing import Any, cast

import cython

__all__ = ["hasten"]

if not cython.compiled:

    def set_member(member: Any, value: Any, content: Any) -> None:
        """Set the field of a value."""
        member.__set__(value, content)


def hasten(kind: type) -> None:
    """Give a dataclass the compiled `__init__`. This does nothing for a class that does more than set its slots, and
    nothing where this module is not compiled."""
    members = _members_of(kind)
    if cython.compiled and members:
        vars_of_class: Any = kind
        vars_of_class.__init__ = _init_for(vars_of_class.__init__, members)


def _members_of(kind: type) -> tuple[MemberDescriptorType, ...]:
    """Slots in the order of the arguments; empty: `__init__` is not only a list of assignments."""
    if "__init__" not in vars(kind) or hasattr(kind, "__post_init__") or not dataclasses.is_dataclass(kind):
        return ()
    fields = dataclasses.fields(kind)
    members = tuple(getattr(kind, field.name, None) for field in fields)
    is_plain = all(type(member) is MemberDescriptorType for member in members)
    if not is_plain or not all(field.init and not field.kw_only for field in fields):
        return ()
    return cast("tuple[MemberDescriptorType, ...]", members)


def _init_for(generated: Any, members: tuple[MemberDescriptorType, ...]) -> Any:
    wanted = len(members)

    @cython.binding(True)  # type: ignore[untyped-decorator]  # it becomes a method
    def __init__(self: Any, *contents: Any, **named: Any) -> None:
        if named or len(contents) != wanted:
            generated(self, *contents, **named)
            return
        for place in range(wanted):
            set_member(members[place], self, contents[place])

    made: Any = __init__
    made.__wrapped__ = generated  # where `inspect` finds the arguments
    return made

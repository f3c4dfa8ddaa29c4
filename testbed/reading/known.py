"""What is known of a section whose file had problems: the keys that were good, and no others."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from testbed.reading.keytypes import At

__all__ = ["NotKnown", "Section", "as_far_as_known"]


class NotKnown(AttributeError):
    """A key that was asked for had a problem in the file, which is already reported."""


class as_far_as_known:
    """A context: a check inside ends, without a word, at the first key that it cannot know."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> bool:
        return kind is not None and issubclass(kind, NotKnown)


class Section:
    """What sections inherit. A section may say more than its keys do by overriding `check` and `left_out`."""

    __slots__ = ()

    def check(self, at: At) -> None:
        """Report what is wrong between the keys of this section. It may end with NotKnown."""

    def left_out(self) -> Collection[str]:
        """Fields that are not written, because this section means nothing by them."""
        return ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in type(self).__dataclass_fields__:
                raise NotKnown(name)
            own = getattr(type(self), name, None)
            if isinstance(own, property) and own.fget is not None:
                return own.fget(self)  # raises what Python took for a missing attribute: NotKnown, of a section inside
            raise AttributeError(f"{type(self).__name__} has no {name}")

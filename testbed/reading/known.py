"""What is known of a section whose file had problems: the keys that were good, and no others."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from testbed.reading.keytypes import At

__all__ = ["NotKnown", "Section", "as_far_as_known"]


class NotKnown(AttributeError):
    """A key that was asked for had a problem in the file; it is told."""


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
        """Tell what is wrong between the keys of this section. It may end with NotKnown."""

    def left_out(self) -> Collection[str]:
        """Fields that are not written, because this section means nothing by them."""
        return ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Python asks here for a property, too, that read a key that is not known.
            if name in type(self).__dataclass_fields__ or (hasattr(type(self), name) and not _is_whole(self)):
                raise NotKnown(name)
            raise AttributeError(f"{type(self).__name__} has no {name}")


def _is_whole(section: Section) -> bool:
    """Whether every field has a value."""
    try:
        for name in type(section).__dataclass_fields__:  # type: ignore[attr-defined]
            object.__getattribute__(section, name)
    except AttributeError:
        return False
    return True

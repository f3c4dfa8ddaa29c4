"""Types of keys that hold several sections: a list of them, or one of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import closest, show
from testbed.reading.sections import SectionType, read_mapping, read_section, write_section

__all__ = ["ListOf", "Tagged"]


@dataclass(frozen=True, slots=True)
class ListOf(KeyType):
    """A list of sections. `what`: as messages call an entry."""

    item: SectionType
    problem: str = "not a list"
    allowed: str | None = None

    def read(self, value: Any, at: At) -> Any:
        """A tuple. An entry that is no mapping is None, so that the others keep their places."""
        if not isinstance(value, list) or not value:
            at.add(self.problem, found="an empty list" if value == [] else show(value), allowed=self.allowed)
            raise Told
        section, what = self.item.section, self.item.what
        return tuple(read_section(at / index, entry, section, what) for index, entry in enumerate(value))

    def write(self, value: Any) -> Any:
        return [write_section(entry) for entry in value] or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "array", "items": refer(self.item.section), "minItems": 1}

    def sections(self) -> tuple[type, ...]:
        return (self.item.section,)


@dataclass(frozen=True, slots=True)
class Tagged(KeyType):
    """A section of one of several kinds: the key `tag` says by a word which. `what`: as messages call it."""

    tag: str
    kinds: Callable[[], Mapping[str, type]]
    """the section of each word"""
    what: str
    unknown: str
    """what is wrong where nothing has that word"""

    def read(self, value: Any, at: At) -> Any:
        return self.read_kind(value, at, {})

    def read_kind(self, value: Any, at: At, defaults: Mapping[str, Any]) -> Any:
        """As `read`, with defaults as `read_section` takes them."""
        data = read_mapping(at, value, self.what)
        if data is None:
            raise Told
        word, kinds = data.get(self.tag), self.kinds()
        if not isinstance(word, str) or word not in kinds:
            there = self.tag in data
            (at / self.tag).add(
                self.unknown if there else "is missing",
                found=show(word) if there else None,
                allowed=", ".join(kinds),
                hint=closest(word, kinds) if there else None,
            )
            raise Told
        return read_section(at, data, kinds[word], self.what, defaults, self.tag)

    def word(self, value: Any) -> str:
        """That says which kind of section this is."""
        return next(word for word, section in self.kinds().items() if type(value) is section)

    def write(self, value: Any) -> Any:
        return {self.tag: self.word(value)} | write_section(value)

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"oneOf": [refer(section, self.tag, word) for word, section in self.kinds().items()]}

    def sections(self) -> tuple[type, ...]:
        return tuple(self.kinds().values())

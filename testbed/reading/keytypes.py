"""How the value of one key stands in a file: what reads it, what writes it back, and what a JSON Schema says of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from testbed.reading.problems import KeyPath, Problems

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

__all__ = ["At", "KeyType", "Plain", "Refer", "Refused", "Told", "refuse"]


class Refused(Exception):
    """The value of a key is none that it may have."""

    def __init__(self, problem: str, allowed: str | None = None, hint: str | None = None) -> None:
        self.problem, self.allowed, self.hint = problem, allowed, hint
        super().__init__(problem)


refuse = Refused


class Told(Exception):
    """There is no value, and the problems say why."""


@dataclass(frozen=True, slots=True)
class At:
    """A place in a file, and where its problems go."""

    problems: Problems
    path: KeyPath = ()

    def __truediv__(self, key: str | int) -> At:
        return At(self.problems, (*self.path, key))

    def add(
        self, problem: str, *, found: str | None = None, allowed: str | None = None, hint: str | None = None
    ) -> None:
        self.problems.add(self.path, problem, found=found, allowed=allowed, hint=hint)


Refer = Callable[..., dict[str, Any]]
"""a section -> its JSON Schema; of a section of one of several kinds: (section, key, word), the key that says which"""


class KeyType(ABC):
    """`suffix`: how names of attributes with such a value end, which a file leaves out (`rto_ns` is key `rto`). `none`:
    the word of a file that stands for None; without one, a key whose value is None is not written."""

    suffix: str = ""
    none: str | None = None
    allowed: str | None = None

    @abstractmethod
    def read(self, value: Any, at: At) -> Any:
        """What a file holds -> the value. Raises Refused for a bad value, and the other exception of
        this module where the problems are reported already."""

    def write(self, value: Any) -> Any:
        """The value -> what a file holds."""
        return value

    def schema(self, refer: Refer) -> dict[str, Any]:
        """JSON Schema of what a file holds. `refer` gives that of a section."""
        return {}

    def sections(self) -> tuple[type, ...]:
        """Those that stand inside."""
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class Plain(KeyType):
    """A value that is read without a look at anything around it."""

    parse: Callable[[Any], Any]
    """raises Refused"""
    format: Callable[[Any], Any] = lambda value: value
    json_schema: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = field(default_factory=dict)
    """its JSON Schema, or what makes it"""
    suffix: str = ""
    none: str | None = None

    @property
    def allowed(self) -> str | None:  # type: ignore[override]
        """In the words of its own check."""
        try:
            self.parse(None)
        except Refused as problem:
            return problem.allowed
        return None

    def read(self, value: Any, at: At) -> Any:
        return self.parse(value)

    def write(self, value: Any) -> Any:
        return self.format(value)

    def schema(self, refer: Refer) -> dict[str, Any]:
        return dict(self.json_schema() if callable(self.json_schema) else self.json_schema)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """For files whose sections are pydantic models (inventories of a lab), which alone import pydantic."""
        from pydantic_core import PydanticCustomError, core_schema

        def check(value: Any) -> Any:
            try:
                return self.parse(value)
            except Refused as problem:
                parts = {"problem": problem.problem, "allowed": problem.allowed, "hint": problem.hint}
                raise PydanticCustomError("refused", "{problem}", parts) from None

        return core_schema.no_info_plain_validator_function(check)

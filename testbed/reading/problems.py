"""Problems of one scenario file, collected so that a person sees all of them at once, in file order."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloads.errors import ScenarioError

__all__ = ["InvalidScenario", "KeyPath", "Place", "Problems", "closest", "format_path", "show"]

KeyPath = tuple[str | int, ...]


class InvalidScenario(ScenarioError):
    """One or more problems of one scenario; as text, one line each."""

    def __init__(self, problems: Iterable[ScenarioError]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(
            first.problem,
            file=first.file,
            key=first.key,
            line=first.line,
            found=first.found,
            allowed=first.allowed,
            hint=first.hint,
        )

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written."""

    file: str
    line: int | None = None


def format_path(path: KeyPath) -> str:
    """`faults[0].match.packet`"""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


_SHOWN = 60
"""characters of a found value"""


def show(value: object) -> str:
    """A found value for a message: short, on one line, as YAML would write it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        text = f"[{', '.join(str(item) for item in value)}]"
        plain = not any(isinstance(item, list | Mapping) for item in value)
        return text if value and plain and len(text) <= _SHOWN else "a list"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


_LONG_NAME = re.compile(r"([a-z])[a-z_]*[ _]?0*([0-9]+)")


def _short(name: str) -> tuple[str, ...]:
    """Of a node or a link as this project calls it: `host02` and `H2` are h2, `switch1-host2` is h2-s1."""
    return tuple(sorted(_LONG_NAME.sub(r"\1\2", name.lower()).split("-")))


_LONGEST_WORD = 80
"""longest word that is compared with known ones: `difflib` takes more than linear time"""


def closest(value: object, known: Iterable[str]) -> str | None:
    """`did you mean 'rate'?`, or None when nothing is near."""
    words = list(known)
    if len(str(value)) > _LONGEST_WORD:
        return None
    short = _short(str(value))
    for word in words:
        if _short(word) == short:
            return f"did you mean '{word}'?"
    near = difflib.get_close_matches(str(value).lower(), [word.lower() for word in words], n=1, cutoff=0.6)
    for word in words:
        if near and word.lower() == near[0]:
            return f"did you mean '{word}'?"
    return None


@dataclass
class Problems:
    """Collects; `places` says where each key path was written. `folder`: where other files are named from."""

    file: str
    places: Mapping[KeyPath, Place]
    folder: Path = Path()
    _found: list[tuple[tuple[int, int, int], ScenarioError]] = field(default_factory=list)

    def add(
        self,
        path: KeyPath,
        problem: str,
        *,
        found: str | None = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        place, path = self.place(path), self.whole(path)
        error = ScenarioError(
            problem,
            file=place.file,
            line=place.line,
            key=format_path(path) or None,
            found=found,
            allowed=allowed,
            hint=hint,
        )
        order = (place.file != self.file, place.line or 0, len(self._found))
        self._found.append(((int(order[0]), order[1], order[2]), error))

    def relay(self, path: KeyPath, error: ScenarioError) -> None:
        """A problem of another file, which the value at `path` names."""
        place, path = self.place(path), self.whole(path)
        where = format_path(path) + (f" of {place.file}" if place.line is None else f" in {place.file}:{place.line}")
        relayed = ScenarioError(
            error.problem, file=error.file, line=error.line, key=error.key, found=error.found, allowed=error.allowed,
            hint=f"named by {where}",
        )  # fmt: skip
        self._found.append(((int(place.file != self.file), place.line or 0, len(self._found)), relayed))

    def inside(
        self, path: KeyPath, outside: Collection[str] = (), instead: Mapping[str, KeyPath] | None = None
    ) -> Problems:
        """For code that reads what stands at `path` as if it were a file: its problems are reported here, each at its
        place. `outside`: first keys that stand in the whole file alone. `instead`: for first keys that stand in
        neither, the place inside where their problems are reported."""
        return _Inside(self, path, outside, instead or {})

    def place(self, path: KeyPath) -> Place:
        """Of the nearest enclosing key that was written."""
        return self._nearest(self.whole(path))

    def whole(self, path: KeyPath) -> KeyPath:
        """Where that stands in the file."""
        return path

    def _nearest(self, path: KeyPath) -> Place:
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(self.file))

    def __bool__(self) -> bool:
        return bool(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def as_error(self) -> InvalidScenario:
        """Of one or more."""
        return InvalidScenario(error for _, error in sorted(self._found, key=lambda item: item[0]))

    def raise_if_any(self) -> None:
        if self._found:
            raise self.as_error()


class _Inside(Problems):
    """As `Problems.inside`. What is reported here is reported there."""

    def __init__(
        self, outer: Problems, path: KeyPath, outside: Collection[str], instead: Mapping[str, KeyPath]
    ) -> None:
        places = {key[len(path) :]: place for key, place in outer.places.items() if key[: len(path)] == path}
        super().__init__(outer.file, places, outer.folder, outer._found)
        self._outer, self._path, self._outside, self._instead = outer, path, outside, instead

    def whole(self, path: KeyPath) -> KeyPath:
        if not path or path[0] not in self._outside:
            path = (*self._path, *(self._instead.get(str(path[0]), path) if path else path))
        return self._outer.whole(path)

    def _nearest(self, path: KeyPath) -> Place:
        return self._outer._nearest(path)

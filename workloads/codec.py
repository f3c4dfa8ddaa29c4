"""Values as JSON and back: events, configurations of nodes, messages between processes, entries of ledgers.

A value is a tree of dataclasses, tuples, mappings, bytes and what JSON knows. Its annotations say what its JSON looks
like, and nothing else defines it. Reading is strict. The only conversion is that of a whole number where any number
will do. Every problem of a value is reported with its place.

Why no library: the guest of `testbed.interop` reads such values with the interpreter of Debian alone. Nothing compiled
for another interpreter can serve there. Histories also hold values that JSON libraries refuse or change. Examples are
NaN of a training that diverged, halves of characters in the output of a crashed process, and counters beyond 64 bits.
The texts, ranges and places of problems are ours.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

__all__ = [
    "NOTHING",
    "PLAIN",
    "Codec",
    "CodecProblem",
    "Misfit",
    "Reader",
    "describe",
    "field_values",
    "fields_of",
    "unless_default",
]

_T = TypeVar("_T")
Path: TypeAlias = tuple[str | int, ...]
Reader: TypeAlias = Callable[[Any, str], Any]
"""(JSON value, name of the field that holds it) -> value; raises Misfit"""
_Bounds: TypeAlias = tuple[int | None, int | None]
"""least and most"""
NOTHING: Any = object()
"""what is found where nothing is"""


@dataclass(frozen=True, slots=True)
class CodecProblem:
    """What is wrong at one place of a value."""

    path: Path
    """keys and places in lists, from the outermost on"""
    problem: str
    found: object = NOTHING
    allowed: str | None = None
    known: tuple[str, ...] = ()
    """allowed words, for code that proposes the nearest one"""


class Misfit(ValueError):
    """A JSON value is not that of a type. Strategy: raised by readers alone; a reader of something that has parts
    collects it."""

    def __init__(self, *problems: CodecProblem) -> None:
        self.problems = problems
        first = problems[0]
        where = ".".join(map(str, first.path))
        super().__init__(f"{where}: {first.problem}" if where else first.problem)

    def under(self, part: str | int) -> list[CodecProblem]:
        """Its problems, as seen from the value that has this part."""
        return [dataclasses.replace(problem, path=(part, *problem.path)) for problem in self.problems]


def unless_default(default: Any) -> Any:
    """A field that most values have no use for: its JSON is there only when its value is not `default`."""
    return field(default=default, metadata={_SOMETIMES: True})


_SOMETIMES = "unless_default"


@cache
def fields_of(kind: Any) -> tuple[tuple[str, Any, bool, bool], ...]:
    """Name, annotation, whether its JSON is always there, and whether its value is JSON as it is, of each field of a
    dataclass."""
    hints = get_type_hints(kind)
    return tuple(
        (each.name, hints[each.name], _SOMETIMES not in each.metadata, _is_json(hints[each.name]))
        for each in dataclasses.fields(kind)
    )


def _is_json(hint: Any) -> bool:
    """Whether values of this annotation hold neither dataclasses nor bytes (`json` writes a tuple as a list)."""
    if get_origin(hint) is not None:
        return all(arm is Ellipsis or _is_json(arm) for arm in get_args(hint))
    return hint in (int, float, str, bool, type(None))


_Parts: TypeAlias = tuple[Callable[[Any], dict[str, Any]], tuple[tuple[str, Any], ...]]
"""the fields that are always there, of an object; (name, default) of the others"""
_parts: dict[type, _Parts] = {}


def _compile_parts(kind: Any) -> _Parts:
    """The first part is compiled, as `dataclasses` does: long runs write millions of events."""
    each = dataclasses.fields(kind)
    items = ", ".join(f"{item.name!r}: value.{item.name}" for item in each if _SOMETIMES not in item.metadata)
    sometimes = tuple((item.name, item.default) for item in each if _SOMETIMES in item.metadata)
    _parts[kind] = eval(f"lambda value: {{{items}}}"), sometimes
    return _parts[kind]


def field_values(value: Any) -> dict[str, Any]:
    """Values of the fields by name, for a dataclass whose fields hold what `json.dumps` takes."""
    kind = type(value)
    always, sometimes = _parts.get(kind) or _compile_parts(kind)
    found = always(value)
    for name, default in sometimes:
        item = getattr(value, name)
        if item != default:
            found[name] = item
    return found


@cache
def _plain_fields(kind: Any) -> frozenset[str]:
    return frozenset(name for name, _, _, plain in fields_of(kind) if plain)


@dataclass(frozen=True, eq=False)
class Codec:
    """A way to write values. The defaults are those of messages between processes of ours; files that people write have
    limits and forms of their own."""

    write_bytes: Callable[[bytes], str] = bytes.hex
    read_bytes: Callable[[Any, str], bytes] = lambda data, name: bytes.fromhex(data)
    """(JSON value, name of the field); raises Misfit, ValueError or TypeError"""
    least: int | None = None
    """least value of whole numbers"""
    ranges: Mapping[tuple[type, str], tuple[int, int]] = field(default_factory=dict)
    """least and most of a field's whole number, instead"""
    choices: Mapping[tuple[type, str], Iterable[Any]] = field(default_factory=dict)
    """words or numbers that a field may hold"""
    named: str = ""
    """a field of this name is never empty"""
    knows_all: bool = False
    """a key that is no field is a problem; else it is ignored, since another version may have written it"""
    _made: dict[Any, Reader] = field(default_factory=dict)

    def encode(self, value: Any) -> Any:
        """What `json.dumps` takes."""
        if dataclasses.is_dataclass(value):
            return self.encode_fields(value)
        if isinstance(value, bytes):
            return self.write_bytes(value)
        if isinstance(value, list | tuple):
            return [self.encode(item) for item in value]
        if isinstance(value, dict):
            return {str(key): self.encode(item) for key, item in value.items()}
        return value

    def encode_fields(self, value: Any, leave_out: Iterable[str] = ()) -> dict[str, Any]:
        """The fields of a dataclass as JSON values; tuples of what JSON knows stay tuples."""
        found = field_values(value)
        for name in leave_out:
            found.pop(name, None)
        plain = _plain_fields(cast(Any, type(value)))
        return {name: item if name in plain else self.encode(item) for name, item in found.items()}

    def decode(self, kind: type[_T], data: Any, preset: Mapping[str, Any] | None = None) -> _T:
        """The inverse of `encode`. `preset`: fields of a dataclass that `data` cannot give. Raises Misfit."""
        if preset:
            return cast(_T, self._dataclass(kind, preset)(data, ""))
        return cast(_T, self.reader(kind)(data, ""))

    def reader(self, hint: Any) -> Reader:
        """The reader of values with this annotation."""
        found = self._made.get(hint)
        if found is None:
            found = self._made[hint] = self._make(hint, (self.least, None))
        return found

    def _make(self, hint: Any, bounds: _Bounds) -> Reader:
        if dataclasses.is_dataclass(hint):
            return self._dataclass(cast(type, hint), {})
        origin, arms = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return self._union([arm for arm in arms if arm is not type(None)], bounds, nothing=type(None) in arms)
        if origin is tuple:
            return self._tuple(arms)
        if origin is dict:
            return self._mapping(arms[1])
        if hint is int:
            return _whole(*bounds)
        if hint is bytes:
            return self._bytes
        return _PLAIN_READERS.get(hint, _anything)

    def _dataclass(self, kind: type, preset: Mapping[str, Any]) -> Reader:
        entries: list[tuple[str, Reader, bool]] = []
        known = tuple(each.name for each in dataclasses.fields(kind) if each.name not in preset)

        def read(data: Any, _: str) -> Any:
            if not isinstance(data, dict):
                raise Misfit(CodecProblem((), "not a mapping", data, "keys with values"))
            if not entries and known:  # only now: a configuration may hold others of its own type
                entries.extend(self._entries(kind, preset))
            values, problems = dict(preset), list[CodecProblem]()
            for key in data if self.knows_all else ():
                if key in preset:
                    problems.append(CodecProblem((key,), "given on the command line", allowed=", ".join(known)))
                elif key not in known:
                    problems.append(CodecProblem((key,), "unknown key", allowed=", ".join(known), known=known))
            for name, read_field, needed in entries:
                if name in data:
                    try:
                        values[name] = read_field(data[name], name)
                    except Misfit as misfit:
                        problems += misfit.under(name)
                    else:
                        if name == self.named and not data[name]:
                            problems.append(CodecProblem((name,), "is empty", data[name], "a name"))
                elif needed:
                    problems.append(CodecProblem((name,), "is missing"))
            if problems:
                raise Misfit(*problems)
            return kind(**values)

        return read

    def _entries(self, kind: type, preset: Mapping[str, Any]) -> list[tuple[str, Reader, bool]]:
        """Name, reader, and whether it must be there, of each field that is not preset."""
        return [
            (name, self._field(kind, name, hint), each.default is each.default_factory is dataclasses.MISSING)
            for each, (name, hint, _, _) in zip(dataclasses.fields(kind), fields_of(kind), strict=True)
            if name not in preset
        ]

    def _field(self, kind: type, name: str, hint: Any) -> Reader:
        read = self._make(hint, self.ranges[kind, name]) if (kind, name) in self.ranges else self.reader(hint)
        known = self.choices.get((kind, name), getattr(kind, "CHOICES", {}).get(name))
        if known is None:
            return read
        words = tuple(known)

        def read_choice(data: Any, name: str) -> Any:
            value = read(data, name)
            if value not in words:
                known = tuple(map(str, words))
                raise Misfit(CodecProblem((), "unknown value", value, ", ".join(known), known))
            return value

        return read_choice

    def _union(self, arms: list[Any], bounds: _Bounds, *, nothing: bool) -> Reader:
        readers = [self._make(arm, bounds) for arm in arms]

        def read(data: Any, name: str) -> Any:
            if data is None and nothing:
                return None
            misfits = []
            for each in readers:
                try:
                    return each(data, name)
                except Misfit as misfit:
                    misfits.append(misfit)
            raise misfits[0]

        return read

    def _tuple(self, arms: tuple[Any, ...]) -> Reader:
        repeated = len(arms) == 2 and arms[1] is Ellipsis
        readers = [self.reader(arm) for arm in arms if arm is not Ellipsis]
        size = len(readers)

        def read(data: Any, name: str) -> Any:
            if not isinstance(data, list):
                raise Misfit(CodecProblem((), "not a list", data, "a list"))
            if not repeated and len(data) != size:
                raise Misfit(CodecProblem((), f"a list of {len(data)}", data, f"a list of {size}"))
            values, problems = [], list[CodecProblem]()
            for place, item in enumerate(data):
                try:
                    values.append(readers[0 if repeated else place](item, name))
                except Misfit as misfit:
                    problems += misfit.under(place)
            if problems:
                raise Misfit(*problems)
            return tuple(values)

        return read

    def _mapping(self, hint: Any) -> Reader:
        read_item = self.reader(hint)

        def read(data: Any, _: str) -> Any:
            if not isinstance(data, dict):
                raise Misfit(CodecProblem((), "not a mapping", data, "keys with values"))
            values, problems = {}, list[CodecProblem]()
            for key, item in data.items():
                try:
                    values[key] = read_item(item, key)
                except Misfit as misfit:
                    problems += misfit.under(key)
            if problems:
                raise Misfit(*problems)
            return values

        return read

    def _bytes(self, data: Any, name: str) -> bytes:
        try:
            return self.read_bytes(data, name)
        except Misfit:
            raise
        except (TypeError, ValueError):
            raise Misfit(CodecProblem((), "not bytes", data, "hexadecimal digits")) from None


def _whole(least: int | None, most: int | None) -> Reader:
    allowed = "a whole number" + (f" from {least}" if least is not None else "") + (f" to {most}" if most else "")

    def read(data: Any, _: str) -> Any:
        if type(data) is not int or (least is not None and data < least):
            raise Misfit(CodecProblem((), "not a whole number", data, allowed))
        if most is not None and data > most:
            raise Misfit(CodecProblem((), "out of range", data, allowed))
        return data

    return read


def _number(data: Any, _: str) -> float:
    if type(data) not in (int, float):
        raise Misfit(CodecProblem((), "not a value of its type", data, "a number"))
    return float(data)


def _text(data: Any, _: str) -> str:
    if not isinstance(data, str):
        raise Misfit(CodecProblem((), "not text", data, "text"))
    return data


def _bool(data: Any, _: str) -> bool:
    if type(data) is not bool:
        raise Misfit(CodecProblem((), "not a value of its type", data, "true, false"))
    return data


def _anything(data: Any, _: str) -> Any:
    return data


_PLAIN_READERS: Mapping[Any, Reader] = {float: _number, str: _text, bool: _bool}
PLAIN = Codec()
"""codec of messages between processes of ours: bytes as hexadecimal digits"""


@cache
def describe(hint: Any) -> str:
    """What JSON holds of an annotation, for a person."""
    origin = get_origin(hint)
    inside = [describe(item) for item in get_args(hint) if item is not Ellipsis]
    if origin in (Union, types.UnionType):
        return " or ".join(inside)
    if origin is tuple:
        return f"a list ({inside[0]})" if Ellipsis in get_args(hint) else f"a list of {len(inside)}"
    if origin is dict:
        return f"a mapping ({inside[1]})"
    return _WORDS.get(hint, "anything")


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "null"}

"""A section of a file is one frozen dataclass: its fields are the keys, with type, unit, default, limits and a line for people.

From that one declaration come the reading of a file (`read_section`), the writing of one (`write_section`), the JSON Schema
(`testbed.reading.jsonschema`) and the tables of the documentation (`testbed.reading.keytables`). To declare a section:

    @dataclass(frozen=True, slots=True)
    class Clocks(Section):
        offset_ns: Duration = 0
        \"\"\"each node's offset lies in -offset .. +offset\"\"\"

A field is a key when its type holds a `KeyType` (`Duration`, `Annotated[int, whole(1, 9)]`), is a section, or a tuple of
sections; other fields are for the program. The name of the key is that of the field, without the unit (`offset_ns` is `offset`).
`Key(...)` beside the type says what differs: another name, a default that only the program has, the keys of a section that
stand among the others.

A section whose file had problems is not whole: it holds the keys that were good. Whoever reads one of the others gets
`NotKnown`, so that a check tells what it can and ends there (`as_far_as_known`).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from testbed.reading.keytypes import At, KeyType, Refer, Refused, Told
from testbed.reading.known import NotKnown, Section, as_far_as_known
from testbed.reading.problems import closest, show

__all__ = [
    "NOT_GIVEN",
    "NO_KEY",
    "Key",
    "KeyOf",
    "ListOf",
    "NotKnown",
    "Section",
    "SectionType",
    "Tagged",
    "as_far_as_known",
    "changed",
    "declare_keys",
    "declared",
    "keys_of",
    "names_of",
    "read_mapping",
    "read_section",
    "write_section",
]

_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class Key:
    """Beside the type of a field: what differs from the rule. `name`: of the key. `required`: a file must hold it, whatever the
    default of the program is. `flat`: the keys of this section stand among those around it, `needs` are those of them that a file
    must hold. `allowed`: what is told where it is missing. `shown`: the default in the words of the tables. `doc`: the line of
    documentation, of a type that several sections have."""

    name: str = ""
    required: bool = False
    flat: bool = False
    needs: tuple[str, ...] = ()
    allowed: str | None = None
    shown: str | None = None
    doc: str | None = None


NO_KEY = object()
"""beside the type of a field that would be a key, and is none"""


@dataclass(frozen=True, slots=True)
class KeyOf:
    """A key of a section."""

    field: str
    name: str
    type: KeyType
    default: Any
    """MISSING: a file must hold it"""
    flat: bool = False
    needs: tuple[str, ...] = ()
    allowed: str | None = None
    shown: str | None = None
    doc: str | None = None
    """None: it stands below the field"""


class _NotGiven:
    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Any = _NotGiven()
"""the value of a key of changes (`changes_of`) that a file does not hold"""

_DECLARED: dict[type, tuple[KeyOf, ...]] = {}
"""keys of values that are defined on a lower floor"""


def declare_keys(value: type, **keys: tuple[Any, str]) -> None:
    """`value`, a frozen dataclass of a lower floor, is a section whose fields have these types and lines of documentation."""
    found = []
    for item in fields(value):
        hint, doc = keys[item.name]
        key = _key(item.name, hint, item.default)
        assert key is not None, item.name
        found.append(replace(key, doc=doc))
    declared(value, tuple(found))


def declared(section: type, keys: tuple[KeyOf, ...]) -> None:
    """`section` has these keys."""
    _DECLARED[section] = keys


@cache
def keys_of(section: Any) -> tuple[KeyOf, ...]:
    """In the order of the fields."""
    if section in _DECLARED:
        return _DECLARED[section]
    hints = get_type_hints(section, include_extras=True)
    found = []
    for item in fields(section):
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        key = _key(item.name, hints[item.name], default)
        if key is not None:
            found.append(key)
    assert len({key.name for key in found}) == len(found), f"{section.__name__}: two keys of one name"
    return tuple(found)


def _key(name: str, hint: Any, default: Any) -> KeyOf | None:
    kind, notes = _type_of(hint)
    if kind is None:
        return None
    note = next((item for item in notes if isinstance(item, Key)), Key())
    plain = note.name or name.removesuffix(kind.suffix)
    return KeyOf(
        name, plain, kind, MISSING if note.required else default, note.flat, note.needs, note.allowed or kind.allowed,
        note.shown, note.doc,
    )  # fmt: skip


def _type_of(hint: Any) -> tuple[KeyType | None, tuple[Any, ...]]:
    """(what reads the key, what stands beside the type)"""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *beside = get_args(hint)
        if NO_KEY in beside:
            return None, ()
        kinds = [note for note in beside if isinstance(note, KeyType)]
        kind, notes = (kinds[0], ()) if kinds else _type_of(inner)
        return kind, (*beside, *notes)
    if origin in (Union, types.UnionType):
        for part in get_args(hint):
            kind, notes = _type_of(part)
            if kind is not None:
                return kind, notes
        return None, ()
    if origin is tuple and len(get_args(hint)) == 2 and get_args(hint)[1] is ...:
        inner, notes = _type_of(get_args(hint)[0])
        return (ListOf(inner), notes) if isinstance(inner, SectionType) else (None, ())
    if isinstance(hint, type) and (hint in _DECLARED or (is_dataclass(hint) and issubclass(hint, Section))):
        return SectionType(hint), ()
    return None, ()


@dataclass(frozen=True, slots=True)
class SectionType(KeyType):
    """A section inside a section. `what`: as messages call it, `{}` being the key."""

    section: type
    what: str = "{}"

    def read(self, value: Any, at: At) -> Any:
        found: Any = read_section(at, value, self.section, self.what.format(at.path[-1]))
        if found is None:
            raise Told
        return found

    def write(self, value: Any) -> Any:
        return write_section(value) or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return refer(self.section)

    def sections(self) -> tuple[type, ...]:
        return (self.section,)


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


def names_of(section: type) -> list[str]:
    """The keys as they stand in a file, in the order of the documentation."""
    found: list[str] = []
    for key in keys_of(section):
        found += names_of(key.type.sections()[0]) if key.flat else [key.name]
    return found


def read_mapping(at: At, value: object, what: str) -> dict[str, Any] | None:
    """`value` where it is a mapping; otherwise None and a problem."""
    if isinstance(value, Mapping):
        return dict(value)
    at.add(f"{what} is not a mapping", found=show(value), allowed="keys with values, one per line")
    return None


def read_section(
    at: At, value: object, section: type[_S], what: str, defaults: Mapping[str, Any] | None = None, tag: str = ""
) -> _S | None:
    """The section that a file holds at this place, or None where that is no mapping. Where keys have problems, they are told, and
    the section is not whole. `defaults`: values of keys, by their names, in place of the declared ones; `tag`: a key that stands
    beside them and is read elsewhere."""
    data = read_mapping(at, value, what)
    if data is None:
        return None
    known = [tag, *names_of(section)] if tag else names_of(section)
    empty = {key for key, item in data.items() if item is None and key in known}
    for key in sorted(empty):
        (at / key).add("has no value", allowed="a value, or leave the key out")
    found = _read_keys(at, data, section, defaults or {}, ())
    for key in data:
        if key not in known:
            (at / key).add("unknown key", allowed=", ".join(known), hint=closest(key, known))
    _read_inner(at, data, section, found)
    made = _make(section, found)
    if isinstance(made, Section):
        with as_far_as_known():
            made.check(at)
    return made


def _read_keys(
    at: At, data: dict[str, Any], section: type, defaults: Mapping[str, Any], needs: Collection[str]
) -> dict[str, Any]:
    """Fields whose values are known, but for sections inside: first what is wrong, then what is missing."""
    found: dict[str, Any] = {}
    missing = []
    for key in keys_of(section):
        if key.flat:
            continue
        if key.name in data:
            if data[key.name] is not None and not key.type.sections():
                _read_one(at / key.name, key, data[key.name], found)
        elif key.name in defaults:
            found[key.field] = defaults[key.name]
        elif key.default is MISSING or key.name in needs:
            missing.append(key)
        else:
            found[key.field] = key.default
    for key in keys_of(section):
        if key.flat:
            inner = key.type.sections()[0]
            made: Any = _make(inner, _read_keys(at, data, inner, defaults, key.needs))
            if made is not None:
                found[key.field] = made
    for key in missing:
        (at / key.name).add("is missing", allowed=key.allowed)
    for item in fields(section):
        if item.init and item.name not in {key.field for key in keys_of(section)}:
            found[item.name] = item.default_factory() if item.default_factory is not MISSING else item.default
    return found


def _read_one(at: At, key: KeyOf, value: Any, found: dict[str, Any]) -> None:
    try:
        found[key.field] = key.type.read(value, at)
    except Refused as refused:
        at.add(refused.problem, found=show(value), allowed=refused.allowed, hint=refused.hint)
    except Told:
        pass


def _read_inner(at: At, data: dict[str, Any], section: type, found: dict[str, Any]) -> None:
    for key in keys_of(section):
        if not key.flat and key.type.sections() and data.get(key.name) is not None:
            _read_one(at / key.name, key, data[key.name], found)


def _make(section: type[_S], found: dict[str, Any]) -> _S | None:
    """Whole, or with the fields that are known; a value of a lower floor is whole or None."""
    if all(item.name in found for item in fields(section) if item.init):  # type: ignore[arg-type]
        return section(**found)
    if not issubclass(section, Section):
        return None
    made = object.__new__(section)
    for name, value in found.items():
        object.__setattr__(made, name, value)
    return made


def changed(section: _S, *, forget: Collection[str] = (), **values: Any) -> _S:
    """As `dataclasses.replace`, also for a section that is not whole. `forget`: fields that are known to be wrong."""
    found = dict(values)
    for item in fields(section):  # type: ignore[arg-type]
        if item.name not in forget:
            with as_far_as_known():
                found.setdefault(item.name, getattr(section, item.name))
    made = _make(type(section), found)
    assert made is not None
    return made


def write_section(value: Any) -> dict[str, Any]:
    """What a file holds for it."""
    result: dict[str, Any] = {}
    left_out = value.left_out() if isinstance(value, Section) else ()
    section: Any = type(value)
    for key in keys_of(section):
        item = getattr(value, key.field)
        if key.field in left_out or item is NOT_GIVEN:
            continue
        if key.flat:
            result |= write_section(item)
            continue
        plain = key.type.none if item is None else key.type.write(item)
        if plain is not None:
            result[key.name] = plain
    return result

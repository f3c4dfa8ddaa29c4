"""A section of a file is one frozen dataclass: its fields are the keys, with type, unit, default, limits and a line for
people.

From that one declaration come the reading of a file (`read_section`), the writing of one (`write_section`), the JSON
Schema (`testbed.reading.jsonschema`) and the tables of the documentation (`testbed.manual.keys`). To declare a
section:

    @dataclass(frozen=True, slots=True)
    class Clocks(Section):
        offset_ns: Duration = 0
        \"\"\"each node's offset lies in -offset .. +offset\"\"\"

A field is a key when its type holds a `KeyType` (`Duration`, `Annotated[int, whole(1, 9)]`), is a section, or a tuple
of sections. Other fields are for the program. The name of the key is that of the field, without the unit (`offset_ns`
is `offset`). `Key(...)` in the annotation says what differs. That is another name, a default that only the program has,
or the keys of a section that stand among the others.

A section whose file had problems is not whole: it holds the keys that were good. Code that reads one of the others gets
`NotKnown`, so a check reports what it can and ends there (`as_far_as_known`).
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
    "ABSENT", "NOT_GIVEN", "NO_KEY", "Also", "Key", "KeyOf", "NotKnown", "Only", "Section", "SectionType",
    "as_far_as_known", "by_new_names", "changed", "declare_keys", "declared", "keys_of", "make", "names_of",
    "read_keys", "read_mapping", "read_section", "write_section",
]  # fmt: skip

_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class Key:
    """Annotation of a field: what differs from the rule. `name`: of the key. `required`: a file must hold it, whatever
    the default of the program is. `flat`: the keys of this section stand among those around it, `needs` are those of
    them that a file must hold. `allowed`: the message where it is missing. `filled`: the loader fills it in where a
    file does not say it. `first`: it stands before the others in lists. `shown`: the default in the words of the
    tables. `doc`: the line of documentation, of a type that several sections have. `what`: how messages call the
    section. `title`: the name of the key on an axis of a plot, where its own name and that of its section are not
    enough. `was`: its name before, which is refused."""

    name: str = ""
    required: bool = False
    flat: bool = False
    needs: tuple[str, ...] = ()
    allowed: str | None = None
    shown: str | None = None
    doc: str | None = None
    what: str | None = None
    filled: bool = False
    first: bool = False
    title: str = ""
    was: str = ""


@dataclass(frozen=True, slots=True)
class Also:
    """Annotation of a field: another key that gives the same value in another way. Each type writes the values that are
    its own, and None for the others."""

    name: str
    type: KeyType
    doc: str


@dataclass(frozen=True, slots=True)
class Only:
    """Annotation of a field: a key that some files alone may hold, as another section of theirs says.

    `names`: of the choices there that have the key. `lacks`: the message for any other one, `{}` being its name.
    `holds`: whether a choice has it, by what is known of the choice. `shown`: how the documentation calls those that
    have it."""

    names: Callable[[], Collection[str]]
    lacks: str
    holds: Callable[[Any], object]
    shown: str = ""


ABSENT: Any = object()
"""the default of such a key: without it, the other one counts"""
NO_KEY = object()
"""annotation of a field that would be a key, and is none"""


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
    told: str | None = None
    """message for a file that lacks the key; None: what its type allows"""
    shown: str | None = None
    doc: str | None = None
    """None: it stands below the field"""
    filled: bool = False
    first: bool = False
    only: Only | None = None
    """None: every file may hold it"""
    title: str = ""
    """name on an axis of a plot; empty: the name of the section and of the key"""
    was: str = ""
    """its name before; empty: it had none"""

    @property
    def allowed(self) -> str | None:
        return self.told or self.type.allowed


class _NotGiven:
    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Any = _NotGiven()
"""the value of a key of changes (`changes_of`) that a file does not hold"""

_DECLARED: dict[type, tuple[KeyOf, ...]] = {}
"""keys of values that are defined on a lower floor"""


def declare_keys(value: type, **keys: tuple[Any, str]) -> None:
    """`value`, a frozen dataclass of a lower floor, is a section whose fields have these types and lines of
    documentation. Other fields are for the program."""
    defaults = {item.name: item.default for item in fields(value)}
    found = [replace(key, doc=doc) for name, (hint, doc) in keys.items() for key in _keys(name, hint, defaults[name])]
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
        found += _keys(item.name, hints[item.name], default)
    assert len({key.name for key in found}) == len(found), f"{section.__name__}: two keys of one name"
    return tuple(sorted(found, key=lambda key: not key.first))


def _keys(name: str, hint: Any, default: Any) -> list[KeyOf]:
    """Of one field: one, or none, or several that give the same value."""
    kind, notes = _type_of(hint)
    if kind is None:
        return []
    note = next((item for item in notes if isinstance(item, Key)), Key())
    if note.what and isinstance(kind, SectionType):
        kind = replace(kind, what=note.what)
    plain = note.name or name.removesuffix(kind.suffix)
    usual = MISSING if note.required else default
    only = next((item for item in notes if isinstance(item, Only)), None)
    first = KeyOf(
        name,
        plain,
        kind,
        usual,
        note.flat,
        note.needs,
        note.allowed,
        note.shown,
        note.doc,
        note.filled,
        note.first,
        only,
        note.title,
        note.was,
    )
    others = [item for item in notes if isinstance(item, Also)]
    return [first, *(KeyOf(name, item.name, item.type, ABSENT, doc=item.doc, only=only) for item in others)]


def _type_of(hint: Any) -> tuple[KeyType | None, tuple[Any, ...]]:
    """(what reads the key, the rest of the annotation)"""
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
    """The section that a file holds at this place, or None where that is no mapping. Problems of keys are reported, and
    then the section is not whole. `defaults`: values of keys, by their names, instead of the declared ones; `tag`: a
    key that stands next to them and is read elsewhere."""
    found = read_keys(at, value, section, what, defaults, tag)
    if found is None:
        return None
    made = make(section, found)
    if isinstance(made, Section):
        with as_far_as_known():
            made.check(at)
    return made


def read_keys(
    at: At, value: object, section: type, what: str, defaults: Mapping[str, Any] | None = None, tag: str = ""
) -> dict[str, Any] | None:
    """As `read_section`: the fields that are known, for a section that is made of more than its keys."""
    data = read_mapping(at, value, what)
    if data is None:
        return None
    for key in keys_of(section):
        if key.was and key.was in data:
            (at / key.was).add("this key has a new name", allowed=key.name)
    data = by_new_names(data, section)
    known = [tag, *names_of(section)] if tag else names_of(section)
    empty = {key for key, item in data.items() if item is None and key in known}
    for name in sorted(empty):
        (at / name).add("has no value", allowed="a value, or leave the key out")
    found = _read_keys(at, data, section, defaults or {}, ())
    for name in data:
        if name not in known:
            (at / name).add("unknown key", allowed=", ".join(known), hint=closest(name, known))
    _read_inner(at, data, section, found)
    return found


def by_new_names(data: Mapping[str, Any], section: type) -> dict[str, Any]:
    """As if it held each key by the name that it has now."""
    new = {key.was: key.name for key in keys_of(section) if key.was and key.name not in data}
    known = {key.was for key in keys_of(section) if key.was}
    return {new.get(name, name): item for name, item in data.items() if name in new or name not in known}


def _read_keys(
    at: At, data: dict[str, Any], section: type, defaults: Mapping[str, Any], needs: Collection[str]
) -> dict[str, Any]:
    """Fields whose values are known, except for sections inside: first what is wrong, then what is missing."""
    found: dict[str, Any] = {}
    missing = []
    for key in keys_of(section):
        if key.flat:
            continue
        if key.name in data:
            if data[key.name] is not None and not key.type.sections():
                _read_one(at / key.name, key, data[key.name], found)
        elif key.default is ABSENT:
            continue
        elif key.name in defaults:
            found[key.field] = defaults[key.name]
        elif key.default is MISSING or key.name in needs:
            missing.append(key)
        else:
            found[key.field] = key.default
    for key in keys_of(section):
        if key.flat:
            inner = key.type.sections()[0]
            made: Any = make(inner, _read_keys(at, data, inner, defaults, key.needs))
            if made is not None:
                found[key.field] = made
    for key in missing:
        (at / key.name).add("is missing", allowed=key.allowed)
    keys = {key.field for key in keys_of(section)}
    for item in fields(section):
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        if item.init and item.name not in keys and default is not MISSING:
            found[item.name] = default
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


def make(section: type[_S], found: Mapping[str, Any]) -> _S | None:
    """The section of these fields: whole, or with the fields that are known; a value of a lower floor is whole or
    None."""
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
    made = make(type(section), found)
    assert made is not None
    return made


def write_section(value: Any, section: Any = None, left_out: Collection[str] | None = None) -> dict[str, Any]:
    """What a file holds for it. `section`: with the keys of this one, as far as the value has them; `left_out`: as the
    method of sections."""
    result: dict[str, Any] = {}
    if left_out is None:
        left_out = value.left_out() if isinstance(value, Section) else ()
    kind: Any = section or type(value)
    for key in keys_of(kind):
        item = getattr(value, key.field, NOT_GIVEN)
        if key.field in left_out or item is NOT_GIVEN:
            continue
        if key.flat:
            result |= write_section(item)
            continue
        plain = key.type.none if item is None else key.type.write(item)
        if plain is not None:
            result[key.name] = plain
    return result

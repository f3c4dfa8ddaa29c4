"""A node's configuration from YAML or JSON: any tree of frozen dataclasses, with the errors of a scenario file.

MACs are written `02:49:4e:41:00:01`, IPv4 addresses `10.77.0.2`. Key names are those of the dataclass.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs, JobMember
from testbed.reading.problems import KeyPath, Place, Problems, closest, show
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario import names
from workloads.atp import AtpConfig
from workloads.atp.priority import PRIORITIES
from workloads.config import PHASE_KINDS, ArithmeticSpec, CollectiveConfig, WorkloadConfig
from workloads.datagrams.mistakes import Mistake
from workloads.errors import ScenarioError

__all__ = ["parse_node_config", "place_errors", "read_node_config", "refuse_mistakes"]

_T = TypeVar("_T")
_CHOICES: dict[tuple[type, str], Iterable[str]] = {
    (SwitchConfig, "release"): names.RELEASES,
    (SwitchConfig, "gate"): names.GATES,
    (AggregatorKnobs, "age"): names.AGES,
    (AggregatorKnobs, "free"): names.FREES,
    (ArithmeticSpec, "op"): names.OPS,
    (ArithmeticSpec, "dtype"): names.DTYPES,
    (CollectiveConfig, "kind"): (*names.COLLECTIVES, *PHASE_KINDS),
    (CollectiveConfig, "verb"): names.VERBS,
    (CollectiveConfig, "credit"): names.CREDITS,
    (WorkloadConfig, "kind"): names.WORKLOADS,
    (AtpConfig, "priority"): PRIORITIES,
}
_LEAST: dict[tuple[type, str], int] = {(JobMember, "rank"): -1}
"""of whole numbers; of others 0"""
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\Z")
_OF_MACS = ("mac", "macs", "groups")
"""how names of fields end whose bytes are MACs; those of others are IP addresses"""
_BAD: Any = object()


def read_node_config(path: Path, cls: type[_T], preset: Mapping[str, Any] | None = None) -> _T:
    """`preset`: fields that the command line gives; the file cannot hold them. Raises ScenarioError."""
    return parse_node_config(read_text(path, str(path)), str(path), cls, preset)


def parse_node_config(text: str, file: str, cls: type[_T], preset: Mapping[str, Any] | None = None) -> _T:
    """As `read_node_config`, from text."""
    data, places = parse_yaml(text, file)
    problems = Problems(file, places)
    value = _Reader(problems, places).dataclass({} if data is None else data, cls, (), dict(preset or {}))
    problems.raise_if_any()
    assert isinstance(value, cls)
    return value


def refuse_mistakes(path: Path, mistakes: Iterable[Mistake]) -> None:
    """Raises ScenarioError for all of them, each with its line in the file."""
    errors = [ScenarioError("cannot be", key=it.key, found=it.found, allowed=it.allowed) for it in mistakes]
    if errors:
        raise place_errors(path, *errors)


def place_errors(path: Path, *errors: ScenarioError) -> ScenarioError:
    """One or more of what the file tells, with file and line; `key` is a key of the file, or of an entry."""
    _, places = parse_yaml(read_text(path, str(path)), str(path))
    problems = Problems(str(path), places)
    for error in errors:
        problems.add(
            _key_path(error.key or ""), error.problem, found=error.found, allowed=error.allowed, hint=error.hint
        )
    return problems.as_error()


def _key_path(key: str) -> KeyPath:
    """Of `jobs[0].window`."""
    return tuple(int(part) if part.isdecimal() else part for part in re.findall(r"\w+", key))


@dataclasses.dataclass(frozen=True, slots=True)
class _Reader:
    problems: Problems
    places: Mapping[KeyPath, Place]

    def dataclass(self, data: object, cls: type, path: KeyPath, preset: dict[str, Any]) -> Any:
        if not isinstance(data, dict):
            return self._bad(path, "not a mapping", data, "keys with values")
        hints, fields = get_type_hints(cls), [field for field in dataclasses.fields(cls) if field.name not in preset]
        known, values, good = [field.name for field in fields], dict(preset), True
        for key in data:
            if key not in known:
                place = "given on the command line" if key in preset else "unknown key"
                hint = None if key in preset else closest(key, known)
                self.problems.add((*path, key), place, allowed=", ".join(known), hint=hint)
                good = False
        for field in fields:
            here = (*path, field.name)
            if field.name == "name" and data.get("name") == "":
                values["name"] = self._bad(here, "is empty", "", "a name")
                good = False
            elif field.name in data:
                least = _LEAST.get((cls, field.name), 0)
                value = self.value(data[field.name], hints[field.name], here, least)
                words = _CHOICES.get((cls, field.name))
                if value is not _BAD and words is not None and value not in words:
                    value = self._bad(here, "unknown value", value, ", ".join(words), closest(value, words))
                values[field.name] = value
                good = good and value is not _BAD
            elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                self.problems.add(here, "is missing")
                good = False
        return cls(**values) if good else _BAD

    def value(self, data: object, kind: Any, path: KeyPath, least: int = 0) -> Any:
        if dataclasses.is_dataclass(kind):
            assert isinstance(kind, type)
            return self.dataclass(data, kind, path, {})
        if get_origin(kind) is tuple:
            return self._tuple(data, get_args(kind), path)
        if get_origin(kind) in (Union, types.UnionType):
            inner = [arm for arm in get_args(kind) if arm is not type(None)]
            return None if data is None else self.value(data, inner[0], path)
        if kind is bytes:
            return self._address(data, path)
        if kind is int and (isinstance(data, bool) or not isinstance(data, int) or data < least):
            return self._bad(path, "not a whole number", data, f"a whole number from {least}")
        if kind is float and isinstance(data, int) and not isinstance(data, bool):
            return float(data)
        if not isinstance(data, kind):
            words = {str: "text", bool: "true, false", float: "a number"}
            return self._bad(path, f"not {'text' if kind is str else 'a value of its type'}", data, words.get(kind))
        return data

    def _tuple(self, data: object, kinds: tuple[Any, ...], path: KeyPath) -> Any:
        if not isinstance(data, list):
            return self._bad(path, "not a list", data, "a list")
        repeated = len(kinds) == 2 and kinds[1] is Ellipsis
        if not repeated and len(data) != len(kinds):
            return self._bad(path, f"a list of {len(data)}", data, f"a list of {len(kinds)}")
        arms = [kinds[0]] * len(data) if repeated else kinds
        values = [self.value(item, arm, (*path, n)) for n, (item, arm) in enumerate(zip(data, arms, strict=True))]
        return _BAD if _BAD in values else tuple(values)

    def _address(self, data: object, path: KeyPath) -> Any:
        """What the field's name says: a MAC, or else an IP address."""
        key = next(part for part in reversed(path) if isinstance(part, str))
        if key.endswith(_OF_MACS):
            if isinstance(data, str) and _MAC.match(data):
                return bytes.fromhex(data.replace(":", ""))
            return self._bad(path, "no MAC", data, "a MAC as 02:49:4e:41:00:01")
        try:
            if isinstance(data, str):
                return ipaddress.ip_address(data).packed
        except ValueError:
            pass
        return self._bad(path, "no IP address", data, "an IP address as 10.77.0.2")

    def _bad(self, path: KeyPath, problem: str, data: object, allowed: str | None, hint: str | None = None) -> Any:
        self.problems.add(path, problem, found=show(data), allowed=allowed, hint=hint)
        return _BAD

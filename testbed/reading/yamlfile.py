"""YAML text -> plain data with the line of every key. A small, safe part of YAML: nothing in a file is ever executed.

Refused, each with its line: tabs, anchors and aliases, merge keys, tags, duplicate keys, several documents and deep
nesting. Also refused are plain scalars that YAML 1.1 reads differently from what most people mean (`on`, `1:30`,
`0o17`, `1_000`).
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.events import AliasEvent, ScalarEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from testbed.reading.problems import KeyPath, Place, format_path
from testbed.reading.units import parse_whole
from workloads.errors import ScenarioError

__all__ = ["MAX_BYTES", "parse_yaml", "read_text"]

MAX_BYTES = 1 << 20
_MAX_DEPTH = 16

_HEX = re.compile(r"0x[0-9a-fA-F]{1,24}\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?\Z", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_READ_ALIKE = re.compile("(?!.*[|>][-+0-9]*#)[\n -~\u00a0-\u2027\u2030-\ud7ff]*", re.DOTALL)
"""Texts whose data and lines are the same in libyaml, if it accepts them. It takes `|#` for a block."""
_SURPRISES = (
    (re.compile(r"(?i:yes|no|on|off)\Z"), "YAML 1.1 reads it as true or false", "write true or false, or quote it"),
    (
        re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z"),
        "YAML 1.1 reads it as a number of base 60",
        "write a duration with its unit, as 90s, or quote it",
    ),
    (
        re.compile(r"[-+]?0[0-7_]+\Z|0o[0-7]+\Z"),
        "YAML 1.1 reads it as an octal number",
        "write it decimal, or quote it",
    ),
    (
        re.compile(r"[-+]?[0-9][0-9,]*_[0-9_,.]*\Z"),
        "YAML 1.1 drops the underscores of a number",
        "write it without them, or quote it",
    ),
)


def read_text(path: Path, shown: str) -> str:
    """Text of a scenario file. Raises ScenarioError when it is no readable UTF-8 file of at most 1 MiB."""
    try:
        if not path.is_file():
            there = "is no regular file: write its text into one" if path.exists() else "no such file"
            raise ScenarioError("is a folder, not a file" if path.is_dir() else there, file=shown)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror or error}", file=shown) from error
    if len(data) > MAX_BYTES:
        raise ScenarioError("the file is too large", file=shown, found="more than 1 MiB", allowed="at most 1 MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            "not UTF-8 text", file=shown, line=line, found=f"byte {data[error.start]:#04x}", allowed="UTF-8"
        ) from error


class _Refused(Exception):
    def __init__(self, problem: str, line: int, **more: str) -> None:
        self.problem, self.line, self.more = problem, line, more


class _Composer(Composer):
    """Composes nodes only; constructing values is ours, and asks for no tags."""

    depth = 0

    def descend_resolver(self, parent: Node | None, index: Any) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass

    def resolve(self, *asked: object) -> str:
        return ""

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[attr-defined]
        line = event.start_mark.line + 1
        if isinstance(event, AliasEvent):
            raise _Refused("aliases are not allowed", line, found=f"*{event.anchor}", hint="write the value out")
        if getattr(event, "anchor", None) is not None:
            raise _Refused("anchors are not allowed", line, found=f"&{event.anchor}", hint="write the value out")
        if getattr(event, "tag", None) is not None:
            raise _Refused("tags are not allowed", line, found=str(event.tag), hint="scenario files hold plain values")
        if isinstance(event, ScalarEvent) and event.implicit[0]:
            for pattern, problem, hint in _SURPRISES:
                if pattern.match(event.value):
                    raise _Refused(problem, line, found=event.value, hint=hint)
        if isinstance(event, ScalarEvent) and (found := _SURROGATE.search(event.value)):
            raise _Refused(
                "half of a surrogate pair", line, found=f"\\u{ord(found[0]):04x}", allowed="characters of Unicode"
            )
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _Refused("nested too deeply", line, allowed=f"at most {_MAX_DEPTH} levels")
        node = super().compose_node(parent, index)
        self.depth -= 1
        assert node is None or isinstance(node, Node)
        return node


class _Loader(_Composer, yaml.SafeLoader):
    """The reference. Its errors are the ones that users read."""

    def __init__(self, text: str) -> None:
        yaml.SafeLoader.__init__(self, text)


if yaml.__with_libyaml__:

    class _QuickLoader(_Composer, yaml.CSafeLoader):
        """libyaml finds the events."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            self.anchors: dict[str, Node] = {}


def parse_yaml(text: str, file: str) -> tuple[Any, dict[KeyPath, Place]]:
    """(data, where each key path was written). Raises ScenarioError at the first thing that is not allowed."""
    for number, line in enumerate(text.split("\n"), start=1):
        if "\t" in line:
            column = line.index("\t") + 1
            raise ScenarioError(
                "tabs are not allowed", file=file, line=number, found=f"a tab in column {column}", allowed="spaces"
            )
    if yaml.__with_libyaml__ and _READ_ALIKE.fullmatch(text):
        # What is refused is read again: libyaml names errors in other words. So is an empty document: other line.
        with contextlib.suppress(_Refused, yaml.YAMLError):
            data, places = _loaded(_QuickLoader, text, file)
            if data is not None:
                return data, places
    try:
        return _loaded(_Loader, text, file)
    except _Refused as error:
        raise ScenarioError(error.problem, file=file, line=error.line, **error.more) from None
    except yaml.MarkedYAMLError as error:
        raise ScenarioError(**_syntax(error), file=file) from None
    except yaml.reader.ReaderError as error:
        line_number = text.count("\n", 0, error.position) + 1
        found = f"character {int(error.character):#06x}" if isinstance(error.character, int) else None
        raise ScenarioError("a character that YAML does not allow", file=file, line=line_number, found=found) from None


def _loaded(kind: type[_Loader | _QuickLoader], text: str, file: str) -> tuple[Any, dict[KeyPath, Place]]:
    places: dict[KeyPath, Place] = {}
    loader = kind(text)
    try:
        node = loader.get_single_node()
        return None if node is None else _construct(node, (), file, places), places
    finally:
        loader.dispose()


def _syntax(error: yaml.MarkedYAMLError) -> dict[str, Any]:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    if error.context and "single document" in error.context:
        return {"problem": "several documents in one file", "line": line, "allowed": "one document"}
    problem = error.problem or "not YAML"
    return {
        "problem": f"not valid YAML: {problem}",
        "line": line,
        "hint": f"{error.context}" if error.context else None,
    }


def _construct(node: Node, path: KeyPath, file: str, places: dict[KeyPath, Place]) -> Any:
    places.setdefault(path, Place(file, node.start_mark.line + 1))
    if isinstance(node, ScalarNode):
        return _scalar(node)
    if isinstance(node, SequenceNode):
        return [_construct(child, (*path, index), file, places) for index, child in enumerate(node.value)]
    assert isinstance(node, MappingNode)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value if isinstance(key_node, ScalarNode) else None
        if key is None or not isinstance(_scalar(key_node), str):
            raise _Refused("a key must be a word", line, found="a mapping or list" if key is None else repr(key))
        if key == "<<":
            raise _Refused("merge keys are not allowed", line, found="<<", hint="write the keys out")
        here = (*path, key)
        if key in result:
            first = places[here].line
            raise _Refused(f"{format_path(here)}: duplicate key", line, found=f"'{key}' again, first in line {first}")
        places[here] = Place(file, line)
        result[key] = _construct(value_node, here, file, places)
    return result


def _scalar(node: ScalarNode) -> str | int | float | bool | None:
    text = node.value
    assert isinstance(text, str)
    if node.style:
        return text
    if text in ("true", "false"):
        return text == "true"
    if text in ("", "~", "null"):
        return None
    if _HEX.match(text):
        return int(text, 16)
    if not _FLOAT.match(text):
        return text
    whole = parse_whole(text)
    return float(text) if whole is None else whole

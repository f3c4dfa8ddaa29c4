"""A reader of the text of nccl-tests, from the rules of its format alone: rows are the lines that do not begin with
`#`, with 13 fields between blanks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

COLUMNS = ("size", "count", "type", "redop", "root", *("time", "algbw", "busbw", "#wrong") * 2)
UNITS = ("(B)", "(elements)", "(us)", "(GB/s)", "(GB/s)", "(us)", "(GB/s)", "(GB/s)")
NONE = "N/A"


@dataclass
class Side:
    time_us: float | None
    algbw: float | None
    busbw: float | None
    wrong: int | None


@dataclass
class Line:
    size: int
    count: int
    type: str
    redop: str
    root: int
    out_of_place: Side
    in_place: Side


@dataclass
class NcclTable:
    program: str
    lines: list[Line] = field(default_factory=list)
    wrong: int | None = None
    okay: bool | None = None
    average: float | None = None


def read_nccl(text: str) -> list[NcclTable]:
    """Tables in their order. Raises ValueError for what the format has no place for."""
    tables, heads = list[NcclTable](), list[str]()
    for line in text.splitlines():
        if found := re.match(r"# Collective test starting: (\w+)$", line):
            tables.append(NcclTable(found[1]))
            heads = []
        elif line.startswith("#"):
            heads.append(line)
            if found := re.match(r"# Out of bounds values +: (\d+) (OK|FAILED)$", line):
                tables[-1].wrong, tables[-1].okay = int(found[1]), found[2] == "OK"
            elif found := re.match(r"# Avg bus bandwidth +: (\S+) *$", line):
                tables[-1].average = None if found[1] == NONE else float(found[1])
        elif line.strip():
            if not tables[-1].lines and [tuple(head[1:].split()) for head in heads[-2:]] != [COLUMNS, UNITS]:
                raise ValueError(f"other columns: {heads[-2:]}")
            tables[-1].lines.append(_line(line.split()))
    return tables


def _line(words: list[str]) -> Line:
    if len(words) != len(COLUMNS):
        raise ValueError(f"{len(words)} fields: {words}")
    size, count, kind, redop, root = words[:5]
    return Line(int(size), int(count), kind, redop, int(root), _side(words[5:9]), _side(words[9:]))


def _side(words: list[str]) -> Side:
    time, algbw, busbw = (None if word == NONE else float(word) for word in words[:3])
    return Side(time, algbw, busbw, None if words[3] == NONE else int(float(words[3])))

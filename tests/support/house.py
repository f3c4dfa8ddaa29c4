"""Counts that say how far a protocol is from being a set of folders: `python -m tests.support.house` prints them. With
words behind it, it lists what the count of these words is of.

`tests/test_house.py` refuses a count that grows.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from testbed.protocols import names
from tests.support.floors import ROOT, python_files

__all__ = ["MEASURES", "MORE_FOLDERS", "RIGHTLY_NAMED", "endpoints", "is_open", "literal_place", "naming_at_all"]

FOLDERS = ("workloads", "switch_nodes", "topologies", "testbed")
CONTRACT = (
    "testbed/scenario/protocols/protocol.py", "testbed/scenario/checks/contract.py", "testbed/plan/contract.py",
    "testbed/checkers/contract.py", "testbed/hunt/contract.py",
)  # fmt: skip
"""modules that declare what a protocol answers; those that exist"""
_FUNCTION = re.compile(r"(?:testbed|workloads|switch_nodes|topologies)(?:\.\w+)+:\w+")
_MANY = 9
"""parameters of a function that has too many"""


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _files() -> tuple[Path, ...]:
    return tuple(path for folder in FOLDERS for path in python_files(folder))


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def untyped() -> Iterator[str]:
    """Fields, parameters, results and aliases of the contract whose types leave something open."""
    for place in CONTRACT:
        if not (ROOT / place).is_file():
            continue
        for node in ast.walk(_tree(ROOT / place)):
            if isinstance(node, ast.AnnAssign):
                parts = [node.annotation]
                if node.value is not None and ast.unparse(node.annotation) == "TypeAlias":
                    parts = [node.value]
                name = ast.unparse(node.target)
            elif isinstance(node, ast.arg):
                parts, name = [node.annotation] if node.annotation is not None else [], node.arg
            elif isinstance(node, ast.FunctionDef):
                parts, name = [node.returns] if node.returns is not None else [], node.name
            else:
                continue
            if any(map(is_open, parts)):
                yield f"{place}:{node.lineno}: {name}"


def is_open(annotation: ast.AST) -> bool:
    """Whether it has an `Any`, or functions of any parameters."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name) and node.id == "Any":
            return True
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Callable":
            first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            if isinstance(first, ast.Constant) and first.value is Ellipsis:
                return True
    return False


def by_strings() -> Iterator[str]:
    """Functions and classes named as `module:name`."""
    for path in _files():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FUNCTION.fullmatch(node.value):
                yield f"{_shown(path)}:{node.lineno}: {node.value}"


def flags() -> Iterator[str]:
    """Fields of a protocol that are true or false, and fields of its `Traits`."""
    for node in ast.walk(_tree(ROOT / "testbed/scenario/protocols/protocol.py")):
        if isinstance(node, ast.ClassDef):
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            flat = (each for each in fields if node.name == "Traits" or ast.unparse(each.annotation) == "bool")
            yield from (ast.unparse(each.target) for each in flat)


def askers() -> Iterator[str]:
    """Files outside `testbed/protocols/` that ask a flag of a protocol."""
    known = set(flags())
    for path in _files():
        name = _shown(path)
        if name.startswith("testbed/protocols/") or "protocol" not in path.read_text(encoding="utf-8"):
            continue
        if any(isinstance(node, ast.Attribute) and node.attr in known for node in ast.walk(_tree(path))):
            yield name


def with_many_parameters() -> Iterator[str]:
    """Functions with nine parameters or more, `self` left out."""
    for path in _files():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if len([each for each in given if each.arg not in ("self", "cls")]) >= _MANY:
                    yield f"{_shown(path)}:{node.lineno}: {node.name}"


def shared_names() -> Iterator[str]:
    """Public classes that share their name with another one."""
    found = [
        (node.name, _shown(path))
        for path in _files()
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    often = Counter(name for name, _ in found)
    yield from (f"{name}: {place}" for name, place in sorted(found) if often[name] > 1)


MORE_FOLDERS = {
    "netreduce": (
        "switch_nodes/fpga/",  # cards: program netreduce in hardware, under a path that users import
        "testbed/interop/",  # stock RoCE endpoints with a NetReduce switch on their wires
    ),
}
"""further folders of one protocol alone"""
_ALGORITHMS = "closed forms by the names that algorithms have in papers; no run and no protocol is needed"
_PLANNERS = "planners of gradient routes (`routing.planner`, `tb route`), which have the names of their papers"
_RINGS = "a library of what runs on one ring of connections, by `CollectiveConfig.kind`; several protocols build on it"
RIGHTLY_NAMED = {
    "workloads/collectives/kinds.py": _RINGS,
    "workloads/collectives/netreduce.py": _RINGS,
    "workloads/collectives/plain_ring.py": _RINGS,
    "workloads/collectives/ring.py": _RINGS,
    "workloads/collectives/staged.py": _RINGS,
    "workloads/costs/flat.py": _ALGORITHMS,
    "workloads/costs/hierarchical.py": _ALGORITHMS,
    "workloads/costs/registry.py": _ALGORITHMS,
    "workloads/costs/traffic.py": _ALGORITHMS,
    "topologies/grid_triangle.py": "a graph of three switches in a triangle, and a host that is called `ps`",
    "topologies/routing/gradients/grid.py": _PLANNERS,
    "topologies/routing/gradients/nearest_switch.py": _PLANNERS,
    "topologies/routing/gradients/planners.py": _PLANNERS,
    "testbed/bench/peers/cases.py": "the two that are compared with gloo and OpenMPI; it skips what a tree lacks",
    "testbed/scenario/protocols/names.py": "values of keys that a scenario leaves out: files that are kept mean these",
}
"""files that name a protocol, or something else by the same word, and should: each with the reason"""


def _parts_of(name: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}/" for folder in ("switch_nodes", "workloads", "testbed/protocols"))


def _says(path: Path, known: set[str]) -> set[str]:
    """Protocols that a file names: by strings, by its own name, and by imports from their folders."""
    found = set(re.split(r"[_/.]", _shown(path)))
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.ImportFrom):
            module = f"{(node.module or '').replace('.', '/')}/"
            found |= {name for name in known if module.startswith(_parts_of(name))}
    return found & known


def naming_at_all() -> Iterator[tuple[str, set[str]]]:
    """(file outside the folders of all protocols, protocols that it names)"""
    known = set(names())
    inside = tuple(part for name in known for part in (*_parts_of(name), *MORE_FOLDERS.get(name, ())))
    for path in _files():
        if not _shown(path).startswith((*inside, "testbed/protocols/parts/")) and (said := _says(path, known)):
            yield _shown(path), said


def naming() -> Iterator[str]:
    """Those that should not."""
    for place, said in naming_at_all():
        if place not in RIGHTLY_NAMED:
            yield f"{place}: {', '.join(sorted(said))}"


_CARRIERS = ("workloads/wire/", "workloads/rc/", "workloads/uc/", "workloads/datagrams/", "workloads/transports/",
             "workloads/kernels.py")  # fmt: skip
"""folders of transports, and what reads octets for them"""
_HEADERS = frozenset(
    {
        "Aeth", "AtomicAckEth", "AtomicEth", "Bth", "Deth", "Ieth", "ImmDt", "Reth", "Sack", "Packet", "OPCODES",
        "Opcode", "Nak", "PSN_MASK", "PSN_MODULUS", "ROCE_PORT", "ICRC_BYTES", "ACK_UNLIMITED", "RNR_TIMER_NS",
        "continues", "decode_packet", "encode_packet", "icrc_is_valid", "icrc_of", "icrc_state", "is_ack", "is_nak",
        "is_rnr", "opcode_name", "psn_add", "psn_diff", "replace_payload", "rnr_syndrome", "rnr_timer_ns",
    }
)  # fmt: skip
"""names of `workloads.wire` that are fields of RoCE headers, or read and write them"""
_PORT = 4791


_FRAMES = frozenset({"entered", "frame", "head", "header", "raw", "view"})
"""names that variables and fields with the octets of a frame have"""
_READERS = frozenset({"get8", "get16", "get32", "put8", "put16", "put32"})
_PLACE = re.compile(r"_(AT|ETHERNET|IP|TOS|TTL|HEAD|HEADERS|HEADER_BYTES|ETHERNET_BYTES|ACK|ACK_BYTES)\d?$")
"""ends of names of places in frames, and of sizes of headers"""


@cache
def endpoints() -> frozenset[str]:
    """Classes of endpoints."""
    return frozenset(
        node.name
        for path in _files()
        if _shown(path).startswith(("workloads/rc/", "workloads/uc/"))
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Endpoint")
    )


def literal_place(node: ast.AST) -> bool:
    """Whether it names a place in a frame by a number: `frame[12:14]`, `frame[at + 4]`, `get16(frame, 36)`,
    `_IP_AT = 14`, `14 + 20 + 8`, `Struct("!6s6sH")`."""
    if isinstance(node, ast.Subscript):
        octets = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if isinstance(node.slice, ast.Slice):  # the last or the first octets of a frame are no field
            ends = [end for end in (node.slice.lower, node.slice.upper) if end is not None]
            return octets in _FRAMES and len(ends) == 2 and all(map(_has_number, ends))
        return octets in _FRAMES and _has_number(node.slice, least=1)
    if isinstance(node, ast.Call):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called in _READERS and len(node.args) > 1:
            return _has_number(node.args[1])
        first = node.args[0] if node.args else None
        return called == "Struct" and isinstance(first, ast.Constant) and str(first.value).startswith("!6s6s")
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        return any(
            isinstance(given, ast.Constant) and type(given.value) is int and given.value > 11
            and _PLACE.search(getattr(name, "id", "")) is not None
            for name, given in pairs
        )  # fmt: skip
    return isinstance(node, ast.BinOp) and ast.unparse(node).startswith("14 + 20")


def _has_number(place: ast.AST, least: int = 0) -> bool:
    """Whether a place is a number, or one behind or in front of another place."""
    if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Add | ast.Sub):
        return _has_number(place.left, 1) or _has_number(place.right, 1)
    return isinstance(place, ast.Constant) and type(place.value) is int and place.value >= least


def knowing_roce() -> Iterator[str]:
    """Modules outside the folders of transports that take a name of RoCE's headers from `workloads.wire`, or its port,
    name a class of endpoints, or name a place in a frame by a number."""
    for path in _files():
        name = _shown(path)
        if name.startswith(_CARRIERS):
            continue
        known: set[str] = set()
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("workloads.wire"):
                known |= {alias.name for alias in node.names} & _HEADERS
            elif isinstance(node, ast.Constant) and node.value == _PORT:
                known.add(str(_PORT))
            elif isinstance(node, ast.alias | ast.Name | ast.Attribute):
                known |= {getattr(node, field, "") for field in ("name", "id", "attr")} & endpoints()
            if literal_place(node):
                known.add(ast.unparse(node))
        if known:
            yield f"{name}: {', '.join(sorted(known))}"


MEASURES = {
    "open types in the contract": untyped,
    "functions named by strings": by_strings,
    "flags of a protocol": flags,
    "files that ask a flag": askers,
    "functions with nine or more parameters": with_many_parameters,
    "public classes that share a name": shared_names,
    "files outside its folders that name a protocol": naming,
    "modules outside transports that know a RoCE field": knowing_roce,
}


def main() -> None:
    wanted = " ".join(sys.argv[1:])
    for words, measure in MEASURES.items():
        found = list(measure())
        print(f"{len(found):5}  {words}")
        if wanted and words.startswith(wanted):
            print(*(f"       {each}" for each in found), sep="\n")


if __name__ == "__main__":
    main()

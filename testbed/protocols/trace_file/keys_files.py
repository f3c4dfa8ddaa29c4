"""The files of a trace, and what they hold."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from workloads.errors import ScenarioError
from workloads.traces.chakra import ChakraOptions, read_chakra
from workloads.traces.goal import MOST_RANKS, read_goal
from workloads.traces.matching import TraceOperation, match
from workloads.traces.model import JobTrace

__all__ = ["FORMS", "is_trace", "load_trace", "with_groups"]

FORMS = "a GOAL text (*.goal), a Chakra trace (*.et), or a folder with one .et file for each rank"
_GOAL, _CHAKRA = ".goal", ".et"
_MOST_BYTES = 1 << 30
"""of all files of a trace"""
_RANK = re.compile(r"(.*?)\.?([0-9]+)\.et\Z", re.ASCII)


def is_trace(text: str) -> bool:
    """Whether the value of `job.workload` is a path, by its form."""
    return "/" in text or text.endswith((_GOAL, _CHAKRA))


def load_trace(path: str, options: ChakraOptions) -> tuple[JobTrace, tuple[TraceOperation, ...]]:
    """The trace, and what its ranks do together. Raises ScenarioError with the file, the node and its rank."""
    found = Path(path)
    files = (found,) if found.is_file() else _of_ranks(found)
    return _load(path, tuple((str(file), *_stamp(file)) for file in files), options)


@lru_cache(maxsize=2)
def _load(
    path: str, files: tuple[tuple[str, int, int], ...], options: ChakraOptions
) -> tuple[JobTrace, tuple[TraceOperation, ...]]:
    """`files`: name, bytes and time of the last change of each."""
    if sum(size for _, size, _ in files) > _MOST_BYTES:
        raise ScenarioError("too large", file=path, found="more than 1 GiB", allowed="at most 1 GiB in all files")
    if path.endswith(_GOAL):
        trace = read_goal(_text(Path(path)), Path(path).name)
    else:
        contents = [(Path(name).name, Path(name).read_bytes()) for name, _, _ in files]
        trace = read_chakra(contents, options, Path(path).name)
    return trace, match(trace)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError as problem:
        raise ScenarioError("cannot be read", file=str(file), found=str(problem.strerror)) from None
    return status.st_size, status.st_mtime_ns


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ScenarioError("no text", file=path.name, found="bytes that are no UTF-8", allowed="GOAL text") from None


def _of_ranks(folder: Path) -> tuple[Path, ...]:
    """The .et files of a folder in rank order."""
    if not folder.is_dir():
        raise ScenarioError("no such file or folder", file=str(folder), allowed=FORMS)
    by_rank: dict[int, Path] = {}
    names = set[str]()
    for path in sorted(folder.iterdir()):
        found = _RANK.match(path.name)
        if found is None:
            continue
        rank = int(found[2]) if len(found[2]) < 8 else MOST_RANKS
        names.add(found[1])
        if rank in by_rank or len(names) > 1:
            raise ScenarioError(
                "files of several traces", file=str(folder), found=path.name, allowed="one .et file for each rank"
            )
        by_rank[rank] = path
    if not by_rank or sorted(by_rank) != list(range(len(by_rank))) or len(by_rank) > MOST_RANKS:
        raise ScenarioError(
            "not one .et file for each rank", file=str(folder),
            found=f"ranks {', '.join(map(str, sorted(by_rank)[:8]))}" if by_rank else "none",
            allowed=f"NAME.0.et, NAME.1.et, ..., at most {MOST_RANKS}",
        )  # fmt: skip
    return tuple(by_rank[rank] for rank in sorted(by_rank))


def _read_groups(path: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Groups by name, of a JSON file `{"1": [0, 1], "2": [2, 3]}`. Raises ScenarioError."""
    allowed = '{"1": [0, 1], "2": [2, 3]}'
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise ScenarioError("cannot be read", file=path, found=str(problem.strerror), allowed=allowed) from None
    except (ValueError, RecursionError):
        raise ScenarioError("not JSON", file=path, allowed=allowed) from None
    if not isinstance(found, dict) or not all(
        isinstance(ranks, list) and all(type(rank) is int for rank in ranks) for ranks in found.values()
    ):
        raise ScenarioError("not a list of ranks for each group", file=path, allowed=allowed)
    return tuple((name, tuple(ranks)) for name, ranks in found.items())


def with_groups(options: ChakraOptions, path: str | None) -> ChakraOptions:
    return options if path is None else replace(options, groups=_read_groups(path))

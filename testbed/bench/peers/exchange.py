"""How a measurement and the ranks of a peer talk: by files of a folder, so that no wire carries it.

A rank writes `ready.RANK` when it is connected to all others, waits for `go`, reduces, and writes `result.RANK`. That
file holds two times of CLOCK_MONOTONIC in ns, and 1 when every element of its sum is right.
"""

from __future__ import annotations

from pathlib import Path

from workloads.errors import InternalError

__all__ = ["all_there", "read_seconds"]


def all_there(folder: Path, what: str, ranks: int) -> bool:
    """Whether every rank has written its file; one of a result is whole when it ends with a line feed."""
    files = [folder / f"{what}.{rank}" for rank in range(ranks)]
    return all(path.exists() and path.read_bytes().endswith(b"\n") for path in files)


def read_seconds(folder: Path, ranks: int) -> float:
    """From the first rank's start to the last one's end. Raises InternalError when a sum is wrong: a fast wrong answer
    is no measurement."""
    starts, ends = [], []
    for rank in range(ranks):
        words = (folder / f"result.{rank}").read_text(encoding="ascii").split()
        if len(words) != 3 or not all(word.isdecimal() for word in words):
            raise InternalError(f"rank {rank} reported no result: {words}")
        if words[2] != "1":
            raise InternalError(f"the sum of rank {rank} is wrong")
        starts.append(int(words[0]))
        ends.append(int(words[1]))
    return (max(ends) - min(starts)) / 1e9

"""What runs with the sanitized C core: python -m tests.sanitized.child overrun | overflow | fuzz SEED FRAMES [PATH [CHUNK]]

Each chunk says when it begins and what became of it, in a line of JSON: a process that a sanitizer ends says nothing else.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections import Counter
from pathlib import Path

from tests.sanitized.environment import check_sanitized
from tests.sanitized.paths import PATHS, run_chunk
from workloads.native.build import load_library

__all__ = ["main"]

_SELDOM = 10
"""the event loop does more with a frame than the others: it takes part in one turn in so many"""


def main(arguments: list[str]) -> int:
    check_sanitized()
    what, *rest = arguments
    if what == "fuzz":
        seed, frames, *of = rest
        _fuzz(int(seed), int(frames), of[0] if of else None, int(of[1]) if len(of) > 1 else None)
        return 0
    wrong = load_library("overrun", [Path(__file__).with_name("overrun.c")])
    assert wrong is not None
    if what == "overrun":
        wrong.write_at(ctypes.create_string_buffer(100), ctypes.c_int64(100))
    else:
        wrong.add(2**31 - 1, 1)
    return 0


def _fuzz(seed: int, frames: int, path: str | None, chunk: int | None) -> None:
    """Chunks of each path in turn until there were so many mutants; or one chunk."""
    done, paths = 0, [path] if path else list(PATHS)
    number = 0 if chunk is None else chunk
    fresh = set(paths)
    while done < frames:
        for name in paths:
            if name.startswith("loop") and number % _SELDOM and chunk is None and path is None:
                continue
            _say(begins=name, chunk=number)
            counts: Counter[str] = run_chunk(name, seed, number)
            _say(ended=name, chunk=number, counts=counts)
            done += counts["frames"]
            fresh.discard(name)
            if done >= frames and not fresh:
                break
        if chunk is not None:
            return
        number += 1


def _say(**line: object) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

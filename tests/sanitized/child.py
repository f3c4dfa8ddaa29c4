"""What runs with the sanitized C core: python -m tests.sanitized.child overrun | overflow | slots | fuzz SEED FRAMES
[PATH [CHUNK]]

Each chunk says when it begins and what became of it, in a line of JSON: a process that a sanitizer ends says nothing
else.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from switch_nodes.forwarding.frame_queue import _signed
from switch_nodes.netreduce import FastNetReduceProgram
from tests.sanitized.environment import check_sanitized, guard_rows
from tests.sanitized.mutants import LONGEST
from tests.sanitized.paths import PATHS, run_chunk
from tests.sanitized.streams import plan_of, streams_of
from workloads.machine import FrameBatch
from workloads.native.build import LIBRARIES, load_library

__all__ = ["main"]

_TOP = Path(__file__).resolve().parents[2]
_SELDOM = 10
"""the event loop does more with a frame than the others: it takes part in one turn in so many"""


def main(arguments: list[str]) -> int:
    check_sanitized()
    guard_rows()
    what, *rest = arguments
    if what == "fuzz":
        seed, frames, *of = rest
        _fuzz(int(seed), int(frames), of[0] if of else None, int(of[1]) if len(of) > 1 else None)
        return 0
    if what == "slots":
        _write_into_the_next_slot()
        return 0
    wrong = load_library("overrun", [Path(__file__).with_name("overrun.c")])
    assert wrong is not None
    if what == "overrun":
        wrong.write_at(ctypes.create_string_buffer(100), ctypes.c_int64(100))
    else:
        wrong.add(2**31 - 1, 1)
    return 0


def _write_into_the_next_slot() -> None:
    """A switch program of ours that copies four bytes too many of each payload, and frames of a real run."""
    files = [_TOP / name for name in LIBRARIES["switch_programs"]]
    (real,) = (path for path in files if path.name == "absorb.c")
    right = "memcpy(ring->payload + at * ring->row, frame + head, (size_t)size);"
    text = real.read_text(encoding="utf-8")
    assert text.count(right) == 1
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder) / "absorb.c"
        wrong.write_text(text.replace(right, right.replace("(size_t)size", "(size_t)size + 4")), encoding="utf-8")
        files[files.index(real)] = wrong
        library = load_library("slots", files, flags=[f"-I{real.parent}"])
    assert library is not None
    (config,) = plan_of("rack").switches
    program, stream = FastNetReduceProgram(config, _signed(library)), streams_of("rack")["s1"]
    batch = FrameBatch.of(64, LONGEST)
    for frame, port in zip(stream.frames[:64], stream.ports[:64], strict=True):
        batch.append(port, frame)
    program.receive_batch(batch, 0)


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

"""Mutated frames through every compiled path under sanitizers: python -m tests.sanitized.fuzz [--frames N] [--seed S]
[--path P]

Frames are those of simulated runs, changed. What they are follows from seed, path and chunk alone: a finding names the
command that plays its chunk again. Exit codes: 0 nothing found, 1 a finding, 3 this machine has no sanitizers.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections import Counter

from tests.sanitized.environment import EXIT_CODE, NotSanitized, sanitized_environment

__all__ = ["fuzz", "main"]

_CHILD = (sys.executable, "-P", "-m", "tests.sanitized.child")


def main(arguments: list[str] | None = None) -> int:
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m tests.sanitized.fuzz", description=lines[0].split(":")[0])
    parser.add_argument("--frames", type=int, default=200_000, help="mutated frames, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--path", help="only this one")
    parser.add_argument("--chunk", type=int, help="only this chunk of the path")
    args = parser.parse_args(arguments)
    if args.chunk is not None and args.path is None:
        parser.error("--chunk needs --path")
    try:
        return fuzz(args.frames, args.seed, args.path, args.chunk)
    except NotSanitized as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 3


def fuzz(frames: int, seed: int, path: str | None = None, chunk: int | None = None) -> int:
    """Prints the counts of each path, or the command that plays a finding again. The exit code."""
    asked = [str(one) for one in (path, chunk) if one is not None]
    counts: dict[str, Counter[str]] = {}
    last: tuple[str, int] | None = None
    began = time.monotonic()
    with subprocess.Popen(
        [*_CHILD, "fuzz", str(seed), str(frames), *asked],
        env=sanitized_environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said = json.loads(line)
            if "begins" in said:
                last = said["begins"], said["chunk"]
            else:
                last = None
                counts.setdefault(said["ended"], Counter()).update(said["counts"])
        code = process.wait()
    for name, found in counts.items():
        print(f"{name}: " + ", ".join(f"{number:,} {what}" for what, number in found.items() if number))
    total = sum(found["frames"] for found in counts.values())
    print(f"fuzz: {total:,} mutated frames on {len(counts)} paths in {time.monotonic() - began:.0f} s, seed {seed}")
    if code == 0 and total:
        return 0
    what = "a sanitizer found something" if code == EXIT_CODE else f"the process ended with {code}"
    if last is not None:
        again = shlex.join(
            ["python", "-m", "tests.sanitized.fuzz", f"--seed={seed}", f"--path={last[0]}", f"--chunk={last[1]}"]
        )
        what += f"; once more: {again}"
    print(f"fuzz: {what}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

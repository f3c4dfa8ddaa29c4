"""`python -m testbed.sweeps.worker`: computes points that come as JSON lines on stdin, and answers each with a line on
stdout.

A program of its own, not a fork or a spawn of the caller. So it works from notebooks and from scripts without a main
guard, and its death is the death of one point. It ends when stdin does: a caller that was killed leaves it to finish
its point, and to tear down what that made."""

from __future__ import annotations

import json
import os
import signal
import sys

from testbed.sweeps.compute import compute_point

__all__ = ["main"]


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller hears it, and ends us
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a point prints is no answer
    for line in sys.stdin:
        task = json.loads(line)
        answers.write(json.dumps(compute_point(**task)) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

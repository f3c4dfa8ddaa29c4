"""Points of a sweep in processes of this machine."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from testbed.sweeps.compute import failed, task_of
from testbed.sweeps.scenario_model import Point
from workloads.blame import how_ended

__all__ = ["compute_locally"]

_TOP = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 20.0
"""time limit for the teardown of a network"""
_MOST_OUTPUT = 400
"""characters of what a worker said before it died"""


def compute_locally(points: Sequence[Point], jobs: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """(place in `points`, outcome as of `compute_point`), in the order in which they are done. A process that dies
    takes its point along and is replaced. When the caller stops early, the processes are ended."""
    todo, done = deque(range(len(points))), queue.SimpleQueue[tuple[int, dict[str, Any]]]()
    workers = [_Worker() for _ in range(min(jobs, len(points)))]

    def serve(worker: _Worker) -> None:
        while True:
            try:
                index = todo.popleft()
            except IndexError:
                return
            done.put((index, worker.compute(points[index])))

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for _ in range(len(points)):
            yield done.get()
    finally:
        todo.clear()
        for worker in workers:
            worker.close()
        for thread in threads:
            thread.join()


class _Worker:
    """One process, started with its first point, and restarted after its death."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock, self._closed = threading.Lock(), False
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        """what it prints, for the case that it dies"""

    def compute(self, point: Point) -> dict[str, Any]:
        process = self._running()
        if process is None:
            return failed("failed", "stopped before it ran")
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(task_of(point)) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except (OSError, ValueError):
            answer = ""
        if answer.endswith("\n"):
            outcome: dict[str, Any] = json.loads(answer)
            return outcome
        return failed("failed", self._death(process))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.terminate()  # a network that it made is torn down
            try:
                process.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        self._output.close()

    def _running(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._process is None and not self._closed:
                code = (
                    f"import sys; sys.path.insert(0, {str(_TOP)!r}); from testbed.sweeps.worker import main; "
                    "sys.exit(main())"
                )
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=self._output,
                    text=True, encoding="utf-8", start_new_session=True,
                )  # fmt: skip
            return self._process

    def _death(self, process: subprocess.Popen[str]) -> str:
        status = process.wait()
        with self._lock:
            self._process = None if self._process is process else self._process
            if self._closed:
                return "stopped"
            self._output.seek(0)
            said = " ".join(self._output.read().decode(errors="replace").split())[-_MOST_OUTPUT:]
            self._output.truncate(0)
        return f"its process ended with {how_ended(status)}" + (f": {said}" if said else "")

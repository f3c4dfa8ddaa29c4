"""What must hold between the keys of a scenario whose protocol is a plain parameter server."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.keys.job import Job

__all__ = ["check_ps"]


def check_ps(problems: Problems, job: Job, entries: Sequence[tuple[KeyPath, Job]] = ()) -> None:
    """Exponents of floats go a window ahead and wait for results, which a server that does not stream holds back.
    `entries`: of `jobs`, each with its place."""
    if job.own is None or job.own.streaming:
        return
    if job.file is not None:
        problems.add(
            ("job", "streaming"), "a server that does not stream knows one size of gradients, and a trace has several",
            found="false", allowed="true",
        )  # fmt: skip
    for path, each in entries or ((("job",), job),):
        if each.dtype == "float32":
            problems.add(
                (*path, "dtype"), "float32 waits for results while it is sent, and the server holds them back",
                found="float32 with streaming: false", allowed="int32, int32sat; or streaming: true",
            )  # fmt: skip

"""Files of a run from a host, whatever the host says about them."""

from __future__ import annotations

import time
from pathlib import Path

from testbed.lab.agent.answers import FileEntry
from testbed.lab.agent.requests import ListFiles
from testbed.lab.client import WrongAnswer
from testbed.lab.lab import Lab, StepDone
from testbed.lab.model import Host
from testbed.lab.transfer import MAX_FILE, local_name, receive
from workloads.errors import LabError

__all__ = ["MAX_RUN_BYTES", "collect_files"]

MAX_RUN_BYTES = 1 << 30
"""bytes that are fetched from one host at most"""
_MAX_FILES = 1000
"""most files of a run on one host"""
_COLLECT_S = 300.0
"""time limit for all files of a run on one host"""


def collect_files(lab: Lab, host: Host, run: str, folder: Path) -> StepDone:
    """Into FOLDER/HOST-NAME; at most 256 MiB each, 1 GiB, 1000 files and 300 s per host. Raises LabError."""
    entries = _listing(lab, host, run)
    deadline, left = time.monotonic() + _COLLECT_S, MAX_RUN_BYTES
    if sum(entry.size for entry in entries) > left:
        raise LabError(host.name, f"run {run} left more than {left} bytes")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for entry in entries:
        target = folder / f"{host.name}-{entry.name}"
        target.unlink(missing_ok=True)
        limit_s = max(0.1, min(60.0, deadline - time.monotonic()))
        left -= receive(
            lab.shell(host), f"{host.base}/runs/{run}/{entry.name}", target, sha256=entry.sha256,
            most=min(MAX_FILE, left), timeout_s=limit_s,
        )  # fmt: skip
        paths.append(target)
    return StepDone(paths, f"{len(paths)} files, {MAX_RUN_BYTES - left} bytes")


def _listing(lab: Lab, host: Host, run: str) -> tuple[FileEntry, ...]:
    """As the host reported it. Raises LabError for what is no such thing."""
    try:
        entries = lab.agent(host).ask(ListFiles(run), timeout_s=60.0)
    except WrongAnswer as wrong:
        raise LabError(host.name, f"does not tell the files of a run: {wrong.why}") from None
    if len(entries) > _MAX_FILES:
        raise LabError(host.name, f"does not tell the files of a run, or more than {_MAX_FILES} of them")
    for entry in entries:
        local_name(host.name, entry.name)
        if entry.size < 0:
            raise LabError(host.name, f"does not tell size and hash of {entry.name}")
    return entries

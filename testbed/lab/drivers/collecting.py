"""Files of a run from a host, whatever the host says about them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from testbed.lab.agent.requests import ListFiles
from testbed.lab.lab import Done, Lab
from testbed.lab.model import Host
from testbed.lab.transfer import MAX_FILE, local_name, receive
from workloads.errors import LabError

__all__ = ["MAX_RUN_BYTES", "collect_files"]

MAX_RUN_BYTES = 1 << 30
"""that are fetched of one host"""
_MAX_FILES = 1000
"""of a run on one host"""
_COLLECT_S = 300.0
"""for all files of a run on one host"""


def collect_files(lab: Lab, host: Host, run: str, folder: Path) -> Done:
    """Into FOLDER/HOST-NAME; at most 256 MiB each, 1 GiB, 1000 files and 300 s per host. Raises LabError."""
    entries = _listing(host, lab.agent(host).ask(ListFiles(run), timeout_s=60.0))
    deadline, left = time.monotonic() + _COLLECT_S, MAX_RUN_BYTES
    if sum(size for _, size, _ in entries) > left:
        raise LabError(host.name, f"run {run} left more than {left} bytes")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, _, sha256 in entries:
        target = folder / f"{host.name}-{name}"
        target.unlink(missing_ok=True)
        limit_s = max(0.1, min(60.0, deadline - time.monotonic()))
        left -= receive(
            lab.shell(host), f"{host.base}/runs/{run}/{name}", target, sha256=sha256,
            most=min(MAX_FILE, left), timeout_s=limit_s,
        )  # fmt: skip
        paths.append(target)
    return Done(paths, f"{len(paths)} files, {MAX_RUN_BYTES - left} bytes")


def _listing(host: Host, entries: Any) -> list[tuple[str, int, str]]:
    """(name, size, SHA-256) as the host told them. Raises LabError for what is no such thing."""
    if not isinstance(entries, list) or len(entries) > _MAX_FILES:
        raise LabError(host.name, f"does not tell the files of a run, or more than {_MAX_FILES} of them")
    found = []
    for entry in entries:
        if not isinstance(entry, dict):
            raise LabError(host.name, "does not tell the files of a run")
        name = local_name(host.name, entry.get("name"))
        size, sha256 = entry.get("size"), entry.get("sha256")
        if not isinstance(size, int) or size < 0 or not isinstance(sha256, str):
            raise LabError(host.name, f"does not tell size and hash of {name}")
        found.append((name, size, sha256))
    return found

"""What a run owns, written down before it is made: an append-only file of JSON lines, one thing per line.

`STATE/RUN/ledger.jsonl`, STATE being /run/ina-testbed or $INA_STATE_DIR. The first line names the owner. The folder
appears under its final name with that line in it, so that every folder of a run says whose it is. A line is one
write(2): it is there after kill -9 of the writer, and a last line without its end is no line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from testbed.kernel.processes import ProcessId, boot_id, identify, pid_namespace
from workloads.codec import PLAIN
from workloads.errors import HostCapabilityError
from workloads.trusted import allowed_folders, distrust

__all__ = [
    "Entry",
    "Ledger",
    "LinkEntry",
    "NamespaceEntry",
    "Owner",
    "PathEntry",
    "ProcessEntry",
    "QdiscEntry",
    "known_runs",
    "read_ledger",
    "require_trusted_state",
    "state_dir",
]

LEDGER_NAME = "ledger.jsonl"
_NASCENT = ".new-"


@dataclass(frozen=True, slots=True)
class Owner:
    """First line of every ledger."""

    run: str
    pid: int
    start: int
    boot: str
    pid_namespace: int
    run_dir: str

    @property
    def process(self) -> ProcessId:
        return ProcessId(self.pid, self.start)


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """Written by the process itself, as its first act."""

    pid: int
    start: int
    role: str
    """`shell h1`, `node h1`"""

    @property
    def process(self) -> ProcessId:
        return ProcessId(self.pid, self.start)


@dataclass(frozen=True, slots=True)
class NamespaceEntry:
    """A network namespace; it has no name and ends with its last process."""

    inode: int
    node: str


@dataclass(frozen=True, slots=True)
class LinkEntry:
    """One end of a veth pair: unique together, the name alone is not."""

    name: str
    namespace: int
    """inode"""


@dataclass(frozen=True, slots=True)
class QdiscEntry:
    """Goes with its interface."""

    interface: str
    namespace: int
    qdisc: str


@dataclass(frozen=True, slots=True)
class PathEntry:
    """A file or socket inside the run's folder."""

    name: str
    type: str
    """socket, file"""


Entry: TypeAlias = ProcessEntry | NamespaceEntry | LinkEntry | QdiscEntry | PathEntry
_KINDS: dict[str, type[Owner] | type[Entry]] = {
    "owner": Owner,
    "process": ProcessEntry,
    "namespace": NamespaceEntry,
    "link": LinkEntry,
    "qdisc": QdiscEntry,
    "path": PathEntry,
}
_NAMES = {cls: name for name, cls in _KINDS.items()}


def state_dir() -> Path:
    return Path(os.environ.get("INA_STATE_DIR", "/run/ina-testbed"))


class Ledger:
    """Of one run, open for appending. `folder` is also where the run's sockets live."""

    def __init__(self, owner: Owner, folder: Path, handle: int) -> None:
        self.owner, self.folder, self._handle = owner, folder, handle

    @classmethod
    def create(cls, run: str, run_dir: Path) -> Ledger:
        """Raises FileExistsError when there is a run of this name, and OSError when the state folder cannot be written.
        Raises HostCapabilityError when another user could change it."""
        own = identify(os.getpid())
        assert own is not None, "we are alive"
        owner = Owner(run, own.pid, own.start, boot_id(), pid_namespace(), str(run_dir.absolute()))
        require_trusted_state()
        folder = state_dir() / run
        if folder.exists():
            raise FileExistsError(f"there is already a run {run} in {state_dir()}")
        nascent = state_dir() / f"{_NASCENT}{own.pid}-{own.start}-{run}"
        _make_folder(nascent)
        handle = os.open(
            nascent / LEDGER_NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        ledger = cls(owner, folder, handle)
        ledger._write(owner)
        nascent.rename(folder)
        return ledger

    def note(self, entry: Entry) -> None:
        """Call it before you make the thing."""
        self._write(entry)

    def note_process(self, process: ProcessId, role: str) -> None:
        """For the process itself; works in a forked child."""
        self._write(ProcessEntry(process.pid, process.start, role))

    def _write(self, entry: Owner | Entry) -> None:
        line = json.dumps({"kind": _NAMES[type(entry)], **PLAIN.encode_fields(entry)}, separators=(",", ":"))
        os.write(self._handle, line.encode() + b"\n")

    def entries(self) -> list[Entry]:
        return read_ledger(self.folder)[1]

    def close(self) -> None:
        os.close(self._handle)


def _make_folder(folder: Path) -> None:
    # Another run that ends may remove the empty state folder between our two calls.
    for _ in range(10):
        folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
            return
        except FileNotFoundError:
            continue
    folder.mkdir(mode=0o700, parents=True)


def read_ledger(folder: Path) -> tuple[Owner | None, list[Entry]]:
    """Owner None: the folder was left before its first line was written. Lines that we cannot read are no entries.
    Raises HostCapabilityError for a folder that another user could change."""
    require_trusted_state(folder)
    owner, entries = None, []
    try:
        handle = os.open(folder / LEDGER_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:  # not there, a link, or not ours to read
        return None, []
    for line in text.splitlines(keepends=True):
        entry = _parse(line)
        if isinstance(entry, Owner):
            owner = entry
        elif entry is not None:
            entries.append(entry)
    return owner, entries


def _parse(line: str) -> Owner | Entry | None:
    if not line.endswith("\n"):
        return None
    try:
        values = json.loads(line)
        return PLAIN.decode(_KINDS[values["kind"]], values)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def require_trusted_state(folder: Path | None = None) -> None:
    """Raises HostCapabilityError for a state folder, or a run's folder in it, that another user could change. The
    reason: root ends and removes what stands in its ledgers."""
    problem = distrust(folder or state_dir())
    if problem is not None:
        raise HostCapabilityError(
            f"a state folder that only we can change ({folder or state_dir()}: {problem})",
            f"set INA_STATE_DIR to {allowed_folders()}",
        )


def known_runs() -> Iterator[Path]:
    """Folders of all runs, half-made ones included, in no special order. One that others could change is passed over.
    Raises HostCapabilityError as `require_trusted_state` does."""
    require_trusted_state()
    try:
        entries = list(os.scandir(state_dir()))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and distrust(Path(entry.path)) is None:
            yield Path(entry.path)


def nascent_owner(folder: Path) -> ProcessId | None:
    """The owner that was about to make a run in this folder; None when the folder is not a half-made one."""
    if not folder.name.startswith(_NASCENT):
        return None
    pid, _, rest = folder.name.removeprefix(_NASCENT).partition("-")
    start = rest.partition("-")[0]
    return ProcessId(int(pid), int(start)) if pid.isdecimal() and start.isdecimal() else None

"""Remove what dead runs left, exactly as their ledgers list it; also after kill -9 at any moment, and any number of
times.

Processes end with their run (PR_SET_PDEATHSIG), namespaces with their last process, interfaces and qdiscs with their
namespace. So mostly only files are left. The rest is here for cases in which the kernel could not help. For instance,
another user's process entered one of our namespaces and keeps it.
"""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from testbed.kernel.ledger import (
    LEDGER_NAME,
    Entry,
    LinkEntry,
    Owner,
    PathEntry,
    ProcessEntry,
    known_runs,
    nascent_owner,
    read_ledger,
)
from testbed.kernel.namespaces import inside, namespace_inode, processes_inside
from testbed.kernel.processes import ProcessId, boot_id, end_processes, is_alive, pid_namespace
from testbed.kernel.scratch import remove_dead_scratch
from workloads.errors import ScenarioError

__all__ = ["clean", "find_leftovers", "remove_run"]

_RUN_FILE = "scenario.yaml"
"""file in every run directory"""
_TYPES = {"socket": stat.S_ISSOCK, "file": stat.S_ISREG}


def clean(run_id: str | None = None, *, force: bool = False) -> tuple[str, ...]:
    """Remove what is left of one run (the name of its folder here, or of its run directory), or of all. Returns what
    was removed, for people. A run whose owner lives is left alone, unless forced: then its owner is ended first. Raises
    ScenarioError when `run_id` names a run that lives, or none: neither one that left something nor a run directory
    here."""
    done, found = list[str](), run_id is None
    for folder in sorted(known_runs()):
        owner, entries = read_ledger(folder)
        if run_id is not None and run_id not in (folder.name, Path(owner.run_dir).name if owner else None):
            continue
        found = True
        if owner is None and nascent_owner(folder) is None:
            # No run of ours made this folder.
            continue
        alive = _living_owner(owner, folder)
        if alive is not None and not force:
            if run_id is not None:
                raise ScenarioError(
                    "this run is still going on",
                    file="cleanup",
                    key="--run",
                    found=f"process {alive.pid}, which owns it",
                    allowed="a run whose process has ended",
                )
            continue
        if alive is not None and alive.pid != os.getpid() and end_processes([alive]):
            done.append(f"process {alive.pid} (owner of {folder.name})")
        done += remove_run(folder, owner, entries)
    if run_id is None:
        done += remove_dead_scratch()
    elif not found and not (Path(run_id) / _RUN_FILE).exists() and not (Path("runs") / run_id / _RUN_FILE).exists():
        raise ScenarioError(
            "no such run", file="cleanup", key="--run", found=repr(run_id),
            allowed=", ".join(sorted(folder.name for folder in known_runs())) or "nothing: no run left anything",
        )  # fmt: skip
    return tuple(done)


def _living_owner(owner: Owner | None, folder: Path) -> ProcessId | None:
    if owner is None:
        process = nascent_owner(folder)
        return process if process is not None and is_alive(process) else None
    if owner.boot != boot_id():
        return None
    if owner.pid_namespace != pid_namespace():
        # We cannot see that process, so we do not call it dead.
        return owner.process
    return owner.process if is_alive(owner.process) else None


def remove_run(folder: Path, owner: Owner | None, entries: Iterable[Entry]) -> list[str]:
    """The caller made sure that it is not in use. The ledger goes last, so that an interrupted removal can be
    repeated."""
    entries, done = list(entries), []
    # Pids and namespace numbers mean something only in this boot and in this pid namespace.
    comparable = owner is not None and owner.boot == boot_id() and owner.pid_namespace == pid_namespace()
    if owner is not None and comparable:
        roles = {entry.process: entry.role for entry in entries if isinstance(entry, ProcessEntry)}
        roles.pop(owner.process, None)
        done += [f"process {process.pid} ({roles[process]})" for process in end_processes(roles)]
        done += _remove_links(entries)
    for entry in entries:
        if isinstance(entry, PathEntry) and _remove_path(folder, entry):
            done.append(f"{entry.type} {folder / entry.name}")
    if comparable and find_leftovers(entries, timeout_s=0):
        # Something resisted; the ledger stays for the next attempt.
        return done
    (folder / LEDGER_NAME).unlink(missing_ok=True)
    if _remove_if_empty(folder):
        done.append(f"folder {folder}")
    _remove_if_empty(folder.parent)
    return done


def _links_by_namespace(entries: Iterable[Entry]) -> dict[int, set[str]]:
    links: dict[int, set[str]] = {}
    for entry in entries:
        if isinstance(entry, LinkEntry):
            links.setdefault(entry.namespace, set()).add(entry.name)
    return links


def _present_links(entries: Iterable[Entry]) -> list[tuple[int, str]]:
    """(pid inside its namespace, name) of interfaces that the ledger lists and that are there."""
    wanted = _links_by_namespace(entries)
    own = namespace_inode()
    present = []
    for inode, pid in processes_inside(set(wanted)).items():
        if inode == own:
            continue
        try:
            with inside(pid):
                names = _interface_names()
        except OSError:
            continue
        present += [(pid, name) for name in sorted(wanted[inode] & names)]
    return present


def _interface_names() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def _remove_links(entries: Iterable[Entry]) -> list[str]:
    present = _present_links(entries)
    if not present:
        return []
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    done = []
    for pid, name in present:
        try:
            with inside(pid), IPRoute() as netlink:
                for index in netlink.link_lookup(ifname=name):
                    netlink.link("del", index=index)
                    done.append(f"interface {name}")
        except (OSError, NetlinkError):
            continue
    return done


def _remove_path(folder: Path, entry: PathEntry) -> bool:
    path = folder / entry.name
    if path.parent != folder:
        return False
    try:
        if not _TYPES[entry.type](path.lstat().st_mode):
            return False
        path.unlink()
    except (FileNotFoundError, KeyError):
        return False
    return True


def _remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def find_leftovers(entries: Iterable[Entry], timeout_s: float = 3.0) -> tuple[str, ...]:
    """What is still there of these entries. The kernel frees namespaces some time after their last process, so look
    again until nothing is there or the time is up."""
    entries = list(entries)
    deadline = time.monotonic() + timeout_s
    while True:
        left = _still_there(entries)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.02)


def _still_there(entries: list[Entry]) -> tuple[str, ...]:
    processes = [
        f"process {entry.pid} ({entry.role})"
        for entry in entries
        if isinstance(entry, ProcessEntry) and is_alive(entry.process)
    ]
    return (*processes, *(f"interface {name}" for _, name in _present_links(entries)))

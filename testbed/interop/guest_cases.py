"""One guest and the cases that it serves, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from testbed.history import Record, sort_history, write_history
from testbed.interop.boot import BootedGuest
from testbed.interop.busy_timeouts import doublings, patient
from testbed.interop.casehost import open_case, run_case
from testbed.interop.cases import Case
from testbed.interop.judging import CaseOutcome, judge_case
from testbed.interop.peercases import PeerCase
from testbed.interop.peerhost import open_peer_case, run_peer_case
from testbed.interop.peerjudge import judge_peer

__all__ = ["Boot", "GuestBoot", "Task", "serve_guest"]

Boot: TypeAlias = Callable[[Path, str], AbstractContextManager[BootedGuest]]
"""(folder for its logs, name of its ledger); as `testbed.interop.boot.boot_guest`"""


@dataclass(frozen=True, slots=True)
class Task:
    number: int
    """number in the suite, from 1"""
    case: Case | PeerCase
    seed: int


@dataclass(frozen=True, slots=True)
class GuestBoot:
    booted_s: float
    versions: dict[str, str]
    """versions as the guest reported them"""


def serve_guest(
    boot: Boot,
    run_dir: Path,
    number: int,
    *,
    take: Callable[[], Task | None],
    tell: Callable[[Task, CaseOutcome], None],
    say: Callable[[str], None],
    keep: bool,
) -> GuestBoot:
    """Boot guest `number` (from 1) in `run_dir`/guest-NUMBER and run what `take` gives until that is None. A case's
    history and captures lie in `run_dir`, and are removed when it is judged unless `keep`. Raises as `boot` and
    `run_case` do."""
    with boot(run_dir / f"guest-{number}", f"{run_dir.name}-{number}") as guest:
        more = doublings(guest.booted_s)
        slow = f": a busy machine, so timeouts are {2**more} times as long" if more else ""
        say(f"guest {number} is up after {guest.booted_s:.1f} s{slow}")

        def fetch() -> Task | None:
            task = take()
            return task and replace(task, case=patient(task.case, more))

        task, number = fetch(), 1
        if task is not None:
            _open(guest, number, task)
        while task is not None:
            folder = run_dir / f"{task.number:04d}-{task.case.id.replace('/', '-')}"
            folder.mkdir()
            # The guest makes the queue pairs of the next case while we judge this one.
            following = fetch()
            if following is not None:
                _open(guest, number + 1, following)
            outcome, history = _run(guest, number, task, folder)
            write_history(folder / "history.jsonl", history)
            tell(task, outcome)
            if not keep:
                _forget(folder)
            task, number = following, number + 1
        return GuestBoot(guest.booted_s, guest.facts.versions)


def _open(guest: BootedGuest, number: int, task: Task) -> None:
    if isinstance(task.case, PeerCase):
        open_peer_case(guest, number, task.case, task.seed)
    else:
        open_case(guest, number, task.case, task.seed)


def _run(guest: BootedGuest, number: int, task: Task, folder: Path) -> tuple[CaseOutcome, list[Record]]:
    if isinstance(task.case, PeerCase):
        peer = run_peer_case(guest, number, task.case, task.seed, folder)
        return judge_peer(peer), sort_history(peer.records)
    run = run_case(guest, number, task.case, task.seed, folder)
    return judge_case(run), run.history


def _forget(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()

"""The whole leg: prepare, boot once, run cases, judge each, leave nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.history import Record, sort_history, write_history
from testbed.interop.boot import BootedGuest, boot_guest
from testbed.interop.casehost import open_case, run_case
from testbed.interop.cases import Case, devices_of
from testbed.interop.image.prepare import default_work_folder, prepare_image
from testbed.interop.judging import CaseOutcome, judge_case
from testbed.interop.native import describe_host_rxe
from testbed.interop.packages import ensure_packages, package_version
from testbed.interop.peercases import PeerCase
from testbed.interop.peerhost import open_peer_case, run_peer_case
from testbed.interop.peerjudge import judge_peer
from testbed.verdict import Verdict, merge

__all__ = ["LegResult", "run_leg"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class LegResult:
    outcomes: tuple[CaseOutcome, ...]
    environment: dict[str, str] = field(default_factory=dict)
    prepared_s: float = 0.0
    booted_s: float = 0.0
    total_s: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return merge(outcome.verdict for outcome in self.outcomes) if self.outcomes else Verdict.UNKNOWN

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA_VERSION,
            "verdict": str(self.verdict),
            "cases": [outcome.as_json() for outcome in self.outcomes],
            "environment": self.environment,
            "seconds": {
                "prepared": round(self.prepared_s, 2),
                "booted": round(self.booted_s, 2),
                "total": round(self.total_s, 2),
            },
        }


def run_leg(
    cases: Sequence[Case | PeerCase],
    *,
    seed: int = 1,
    repeat: int = 1,
    say: Callable[[str], None],
    tell: Callable[[CaseOutcome], None] = lambda outcome: None,
    keep: Path | None = None,
) -> LegResult:
    """Run `cases` in the order given, `repeat` times (round by round, seeds counting up) in one guest. `say` hears what is
    going on, `tell` each outcome as it comes. `keep`: a folder, not there yet, for histories, captures and the guest's logs;
    without it they go when all is over. Raises HostCapabilityError when QEMU, packages or kernel cannot be had, InternalError
    when the guest dies."""
    began = time.monotonic()
    say(describe_host_rxe())
    ensure_packages(say)
    image = prepare_image(default_work_folder(), say)
    prepared_s = time.monotonic() - began
    outcomes = []
    with (
        _run_folder(keep) as run_dir,
        boot_guest(image, devices_of(tuple(cases)), run_dir, say) as guest,
    ):
        say(f"the guest is up after {guest.booted_s:.1f} s")
        todo = [(case, seed + turn) for turn in range(repeat) for case in cases]
        for number, (case, drawn) in enumerate(todo, start=1):
            folder = run_dir / f"{number:04d}-{case.id.replace('/', '-')}"
            folder.mkdir()
            _open(guest, number, case, drawn)
            if number < len(todo):
                _open(guest, number + 1, *todo[number])
            outcome, history = _run(guest, number, case, drawn, folder)
            write_history(folder / "history.jsonl", history)
            outcomes.append(outcome)
            tell(outcome)
            if keep is None:
                _forget(folder)
        environment = {**image.versions, **guest.facts.versions, "rdma-core": package_version("rdma-core") or ""}
        environment["qemu"] = package_version("qemu-system-x86") or ""
        booted_s = guest.booted_s
    return LegResult(tuple(outcomes), environment, prepared_s, booted_s, time.monotonic() - began)


def _open(guest: BootedGuest, number: int, case: Case | PeerCase, seed: int) -> None:
    if isinstance(case, PeerCase):
        open_peer_case(guest, number, case, seed)
    else:
        open_case(guest, number, case, seed)


def _run(
    guest: BootedGuest, number: int, case: Case | PeerCase, seed: int, folder: Path
) -> tuple[CaseOutcome, list[Record]]:
    if isinstance(case, PeerCase):
        peer = run_peer_case(guest, number, case, seed, folder)
        return judge_peer(peer), sort_history(peer.records)
    run = run_case(guest, number, case, seed, folder)
    return judge_case(run), run.history


def _forget(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


@contextlib.contextmanager
def _run_folder(keep: Path | None) -> Iterator[Path]:
    name = f"interop-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    if keep is not None:
        folder = keep.absolute()
        folder.mkdir(parents=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="ina-testbed-") as parent:
        folder = Path(parent) / name
        folder.mkdir()
        yield folder

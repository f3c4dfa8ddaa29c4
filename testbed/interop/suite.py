"""The whole suite: prepare, boot, run cases, judge each, leave nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.history.verdict import Verdict, merge
from testbed.interop.boot import boot_guest
from testbed.interop.cases import Case, devices_of
from testbed.interop.guest_cases import Boot, GuestBoot, Task, serve_guest
from testbed.interop.guest_pool import guests_for, run_guests
from testbed.interop.image.prepare import default_work_folder, prepare_image
from testbed.interop.judging import CaseOutcome
from testbed.interop.packages import NATIVE_PACKAGES, ensure_packages, package_version
from testbed.interop.peercases import PeerCase
from testbed.interop.platforms import choose_platform, native_boot
from testbed.interop.scapy_check import load_scapy
from testbed.interop.table import rule_a_line
from testbed.kernel.rxe import has_rxe
from workloads.trusted import make_folder

__all__ = ["SuiteResult", "run_suite"]

SCHEMA_VERSION = 1
_VERSIONS = (("rdma-core", "rdma-core"), ("qemu", "qemu-system-x86"))


@dataclass(frozen=True, slots=True)
class SuiteResult:
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
            "rule_a": rule_a_line(self.outcomes),
            "environment": self.environment,
            "seconds": {
                "prepared": round(self.prepared_s, 2),
                "booted": round(self.booted_s, 2),
                "total": round(self.total_s, 2),
            },
        }


def run_suite(
    cases: Sequence[Case | PeerCase],
    *,
    seed: int = 1,
    repeat: int = 1,
    guests: int | None = None,
    where: str = "auto",
    say: Callable[[str], None],
    tell: Callable[[CaseOutcome], None] = lambda outcome: None,
    keep: Path | None = None,
) -> SuiteResult:
    """Run `cases`, `repeat` times, round by round with seeds counting up. They run in `guests` guests side by side
    (None: as many as this machine has processors for), or `where` else than in guests (`testbed.interop.platforms`).
    `say` is called with progress, `tell` with each outcome as it comes; the result has them in the order given. `keep`:
    a folder, not there yet, for histories, captures and the guests' logs; without it they go when all is over. Raises
    HostCapabilityError when QEMU, packages or kernel cannot be had, InternalError when a guest dies."""
    began = time.monotonic()
    devices = devices_of(tuple(cases))
    todo = [(case, seed + turn) for turn in range(repeat) for case in cases]
    tasks = [Task(number, case, drawn) for number, (case, drawn) in enumerate(todo, start=1)]
    outcomes: dict[int, CaseOutcome] = {}

    def note(task: Task, outcome: CaseOutcome) -> None:
        outcomes[task.number] = outcome
        tell(outcome)

    with _run_folder(keep) as run_dir:
        if where != "qemu" and has_rxe():
            ensure_packages(say, packages=NATIVE_PACKAGES)
        platform = choose_platform(where, run_dir / f"check-{run_dir.name}", say)
        boot, versions = _prepare(platform, devices, say)
        load_scapy()
        count = 1 if platform != "qemu" else guests or guests_for(len(tasks))
        prepared_s = time.monotonic() - began
        if platform == "qemu":
            say(f"booting {count} guest{'s' if count > 1 else ''} with {devices} rxe devices each")

        def serve(
            guest: int,
            take: Callable[[], Task | None],
            told: Callable[[Task, CaseOutcome], None],
            said: Callable[[str], None],
        ) -> GuestBoot:
            return serve_guest(boot, run_dir, guest, take=take, tell=told, say=said, keep=keep is not None)

        facts = run_guests(count, tasks, serve, tell=note, say=say)
    environment = {**versions, **facts[0].versions, "where": platform, "guests": str(count)}
    ordered = tuple(outcomes[number] for number in sorted(outcomes))
    booted_s = max(fact.booted_s for fact in facts)
    return SuiteResult(ordered, environment, prepared_s, booted_s, time.monotonic() - began)


def _prepare(platform: str, devices: int, say: Callable[[str], None]) -> tuple[Boot, dict[str, str]]:
    """How one guest boots, and versions for the report."""
    if platform != "qemu":
        return native_boot(devices, platform), {"rdma-core": package_version("rdma-core") or ""}
    ensure_packages(say)
    image = prepare_image(default_work_folder(), say)
    versions = {package: package_version(name) or "" for package, name in _VERSIONS}
    return (lambda run_dir, run: boot_guest(image, devices, run_dir, run)), {**image.versions, **versions}


@contextlib.contextmanager
def _run_folder(keep: Path | None) -> Iterator[Path]:
    name = f"interop-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    if keep is not None:
        folder = keep.absolute()
        make_folder(folder, fresh=True)
        yield folder
        return
    runs = default_work_folder() / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    _sweep(runs)
    folder = runs / name
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _sweep(runs: Path) -> None:
    """Folders of runs that were killed: their names end with a pid that is gone."""
    for folder in runs.iterdir():
        pid = folder.name.rpartition("-")[2]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)

"""The host's side of one case: plan, switch, faults and capture, while the guest's workers run."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.dataplane import DataPlane, PlaneControl, PortStages
from switch_nodes.program import SwitchProgram
from switch_nodes.registry import create_program
from testbed.captures.capture import PcapngTap
from testbed.history import Record, make_record, sort_history
from testbed.history.codec import read_record
from testbed.history.events import TimeLimitReached, TrafficStarted
from testbed.interop.boot import BootedGuest
from testbed.interop.cases import ALLREDUCE, Case, case_scenario
from testbed.interop.controls import CONTROLS
from testbed.interop.protocol import CaseRequest, CaseResult, Opened, QpNames, WorkerRequest
from testbed.interop.softhost import SoftHosts
from testbed.interop.wires import WireIo
from testbed.plan import Plan, make_plan, with_workers
from testbed.plan.filters import make_filters
from workloads.errors import InternalError
from workloads.events import WorkerFailed, WorkerFinished
from workloads.machine import Event
from workloads.verbs.names import VerbsNames, true_configs

__all__ = ["CaseRun", "open_case", "run_case", "true_plan"]

_OPEN_S = 60.0
_GRACE_S = 10.0
"""time from a cancellation to the guest's result"""
_LOOK_NS = 5_000_000
_SWITCH = "s1"


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What a case left."""

    case: Case
    plan: Plan | None
    """plan as it ran; None for programs of the guest"""
    history: list[Record]
    captures: tuple[Path, ...]
    error: str
    """why the case could not run to its end; empty: it did"""
    facts: dict[str, Any]
    seconds: float


def true_plan(plan: Plan, names: dict[int, QpNames]) -> Plan:
    """The plan with the numbers, keys and addresses that devices chose, by rank. Faults and checkers know connections
    by the true QPNs."""
    chosen = {rank: VerbsNames(one.send_qpn, one.recv_qpn, one.base_va, one.rkey) for rank, one in names.items()}
    return with_workers(plan, true_configs(plan.ring_workers, chosen))


def open_case(guest: BootedGuest, number: int, case: Case, seed: int) -> tuple[Plan | None, CaseRequest]:
    """Ask the guest for the queue pairs of case `number`. It may be asked while it serves the case before: then it
    makes them while that one is judged."""
    scenario = case_scenario(case, seed) if case.kind == ALLREDUCE else None
    limit_s = 30.0 if scenario is None else scenario.time_limit_ns / 1e9
    planned = None if scenario is None else make_plan(scenario)
    request = CaseRequest(case.id, case.kind, limit_s, _asked(planned, case, guest), _options(case))
    if not guest.mailbox.has(number, "open"):
        guest.mailbox.put(number, "open", request)
    return planned, request


def run_case(guest: BootedGuest, number: int, case: Case, seed: int, folder: Path) -> CaseRun:
    """Case `number` of this boot (from 1), opened already or not. Raises InternalError when the guest dies."""
    began = time.monotonic()
    planned, request = open_case(guest, number, case, seed)
    limit_s = request.limit_s
    guest.machine.wait_for(lambda: guest.mailbox.has(number, "opened"), _OPEN_S, f"case {case.id} to open")
    opened = guest.mailbox.take(number, "opened", Opened)
    assert opened is not None, "it was there"
    if opened.error:
        return CaseRun(case, planned, [], (), opened.error, {}, time.monotonic() - began)
    plan = planned
    if planned is not None:
        ranks = [worker.config.collective.rank for worker in request.workers]
        plan = true_plan(planned, dict(zip(ranks, opened.names, strict=True)))
    with SoftHosts(plan, case.soft, guest.ledger, folder) as soft:
        serving = _Serving(guest, number, case, plan, folder, soft)
        result = serving.run(dataclasses.replace(request, workers=_asked(plan, case, guest)), limit_s)
    history = sort_history(serving.records)
    return CaseRun(case, plan, history, serving.captures, result.error, result.facts, time.monotonic() - began)


def _asked(plan: Plan | None, case: Case, guest: BootedGuest) -> tuple[WorkerRequest, ...]:
    if plan is None:
        return ()
    return tuple(
        WorkerRequest(guest.facts.devices[rank].device, config)
        for rank, config in enumerate(plan.ring_workers)
        if rank not in case.soft
    )


def _options(case: Case) -> dict[str, Any]:
    return {"commands": [list(command) for command in case.commands], "linger": bool(case.soft)}


class _Serving:
    """The switch of one case on the guest's wires, until the guest has its result."""

    def __init__(
        self, guest: BootedGuest, number: int, case: Case, plan: Plan | None, folder: Path, soft: SoftHosts
    ) -> None:
        self.records: list[Record] = []
        self.captures: tuple[Path, ...] = ()
        self._guest, self._number, self._soft, self._plan = guest, number, soft, plan
        self._start_ns = 0
        self._limit_ns = 0
        self._look_at = 0
        self._cancelled = False
        ports = [soft.ports.get(rank, port) for rank, port in enumerate(guest.wires.ports[: case.hosts])]
        guest.wires.drain()
        ingress, egress, self._tap = None, None, None
        if plan is None:
            config = SwitchConfig(_SWITCH, "forward", case.hosts)
        else:
            config = plan.switches[0]
            ingress, egress = make_filters(plan, _SWITCH)
            path = folder / f"{_SWITCH}.pcapng"
            links = sorted(plan.scenario.topology.ports(_SWITCH), key=lambda entry: entry[0])
            self._tap = PcapngTap(path, [link.name for _, link, _ in links])
            self.captures = (path,)
        make: Callable[[SwitchConfig], SwitchProgram] = CONTROLS[case.control] if case.control else create_program
        self._program = make(config)
        self._plane = DataPlane(
            self._program, [], PlaneControl(self._tell), backpressure=True,
            stages=PortStages(ingress or {}, egress or {}, self._tap), io=WireIo(ports),
        )  # fmt: skip

    def run(self, request: CaseRequest, limit_s: float) -> CaseResult:
        guest, number = self._guest, self._number
        origin = time.monotonic_ns()
        if self._plan is not None:
            self.records.append(make_record(0, "world", TrafficStarted(len(self._plan.workers))))
        self._start_ns, self._limit_ns = origin, origin + int(limit_s * 1e9)
        self._soft.start(origin)
        guest.mailbox.put(number, "start", request)
        try:
            self._plane.run(origin, until=self._over)
            now = time.monotonic_ns() - origin
            self._program.finish(now)
            while (event := self._program.next_event()) is not None:
                self._tell(now, event)
        finally:
            if self._tap is not None:
                self._tap.close()
        result = guest.mailbox.take(number, "result", CaseResult)
        if result is None:
            raise InternalError(f"case {request.case}: the guest gave no result\n{guest.machine.evidence()}")
        self.records += map(read_record, result.records)
        self.records += self._soft.records()
        self._tell_unfinished()
        return result

    def _over(self) -> bool:
        """Asked after every wake-up; looks into the folder every 5 ms."""
        now = time.monotonic_ns()
        if now < self._look_at:
            return False
        self._look_at = now + _LOOK_NS
        mailbox, number = self._guest.mailbox, self._number
        if mailbox.has(number, "result") or not self._guest.machine.running:
            return True
        if not self._cancelled and (now > self._limit_ns or (self._soft.finished and mailbox.has(number, "done"))):
            self._cancelled = True
            mailbox.put(number, "cancel", {})
        return now > self._limit_ns + int(_GRACE_S * 1e9)

    def _tell(self, now: int, event: Event) -> None:
        self.records.append(make_record(now, _SWITCH, event))

    def _tell_unfinished(self) -> None:
        """As a world does it when the time limit has passed."""
        if self._plan is None:
            return
        ended = {r.node for r in self.records if isinstance(r.event, WorkerFinished | WorkerFailed)}
        unfinished = [worker.name for worker in self._plan.workers if worker.name not in ended]
        if unfinished:
            limit = self._plan.scenario.time_limit_ns
            self.records.append(make_record(limit, "world", TimeLimitReached(limit, tuple(unfinished))))

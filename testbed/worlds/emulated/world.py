"""The emulated world: real time, real packets, one process per node in its own namespace."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from switch_nodes.events import QueueMarks
from testbed.doctor import require
from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.model import LinkDown
from testbed.history import Record, events, make_record
from testbed.kernel.interruption import Interruption
from testbed.kernel.ledger import Ledger
from testbed.kernel.load import read_machine
from testbed.plan import Plan
from testbed.plan.commodity import openflow_switches
from testbed.scenario.model import CONTROLLER
from testbed.scenario.transports import udp_ports_of
from testbed.worlds.base import RunFacts
from testbed.worlds.emulated.backends import (
    Assignment,
    choose_backends,
    probe_fault_capabilities,
    spliced_links,
)
from testbed.worlds.emulated.carrier import carrier_actions
from testbed.worlds.emulated.devices import plan_with_names, require_devices
from testbed.worlds.emulated.dilation import clock_of, is_exact, not_dilated
from testbed.worlds.emulated.effects import Effects
from testbed.worlds.emulated.environment import environment
from testbed.worlds.emulated.fleet import Companion, Fleet, FleetPhase
from testbed.worlds.emulated.kernel_faults import KernelFaults
from testbed.worlds.emulated.ledgers import own_ledger
from testbed.worlds.emulated.looking import EmulatedLooks
from testbed.worlds.emulated.lossless import pause_reports
from testbed.worlds.emulated.machine import machine_load
from testbed.worlds.emulated.node import NodeBuilder, NodeTask
from testbed.worlds.emulated.openflow import OpenFlowSwitches, refuse_for_openflow
from testbed.worlds.emulated.preload import preload
from testbed.worlds.emulated.programs import build_node, capture_path
from testbed.worlds.emulated.refusals import refuse
from testbed.worlds.emulated.schedule import Act, Action, effective_rate, make_schedule
from testbed.worlds.emulated.tenants import Tenants
from testbed.worlds.sampling import sample_interval_ns
from topologies import DIRECTIONS, Direction, Role
from workloads.events import WorkerFailed, WorkerFellBack, WorkerFinished
from workloads.machine import Event

__all__ = ["NEEDS", "READY_TIMEOUT_S", "START_LEAD_NS", "EmulatedWorld"]

NEEDS = ("namespaces", "veth", "htb", "af_packet", "offloads", "mininet")
"""probes that must hold"""
READY_TIMEOUT_S = 60.0
START_LEAD_NS = 20_000_000
"""from the message of the barrier to t = 0, so that every node hears it in time"""
_GRACE_NS = 5_000_000_000
"""real time: what a node needs to tell that it failed"""
_NEVER = 1 << 62


class EmulatedWorld:
    """Realises a plan on this machine. `build` makes the Machine and the data plane of one node, inside its process;
    `companion` gets its turns in the loop that drives the nodes."""

    name = "emulated"
    has_twin = True

    def __init__(self, build: NodeBuilder = build_node, companion: Companion | None = None) -> None:
        self._build, self._companion = build, companion

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """Records come in the order in which they arrive; sort them by time. Call it before you start threads: it
        forks.

        Raises ScenarioError or HostCapabilityError before anything is made, or when the kernel refuses a part of the
        network. Raises InternalError when a node ends unexpectedly. Raises KeyboardInterrupt after SIGINT, SIGTERM or
        SIGHUP, with everything removed.
        """
        refuse(plan)
        # Probes fork, and what is raised while Python forks gets lost: a signal is only noted from here on.
        with Interruption() as interruption:
            require_devices(plan.scenario.nics)
            require((*NEEDS, *_also_needed(plan)))
            refuse_for_openflow(plan)
            assignments = choose_backends(plan, probe_fault_capabilities)
            interruption.check()
            return _Run(plan, run_dir, on_record, self._build, interruption, assignments, self._companion).go()


class _Run:
    def __init__(
        self,
        plan: Plan,
        run_dir: Path,
        on_record: Callable[[Record], None],
        build: NodeBuilder,
        interruption: Interruption,
        assignments: tuple[Assignment, ...],
        companion: Companion | None,
    ) -> None:
        self._assignments, self._companion = assignments, companion
        self._plan, self._scenario, self._topology = plan, plan.scenario, plan.scenario.topology
        self._run_dir, self._on_record, self._build = run_dir, on_record, build
        self._interruption = interruption
        self._clock = clock_of(plan.scenario)
        self._origin_ns: int | None = None
        self._workers = {worker.name for worker in plan.workers}
        self._finished: set[str] = set()
        self._failed: set[str] = set()
        self._dead: set[str] = set()
        """killed by the scenario and not to come back"""
        self._lives: Counter[str] = Counter()
        """how often each node was started"""
        self._backends: set[str] = set()
        self._rates: dict[tuple[str, str], int] = {}
        """by link and direction, where a fault changed them"""
        self._marks, self._trimmed, self._refused, self._early = (Counter[tuple[str, int]]() for _ in range(4))
        """by switch and port: frames that got CE there"""
        self._give_up_ns = _NEVER
        self._ended_ns = 0
        self._effects = Effects(self._tell)
        self._pauses = pause_reports(plan.scenario, on_record)

    def go(self) -> RunFacts:
        self._run_dir.mkdir(parents=True, exist_ok=True)
        with own_ledger(self._run_dir, lambda left: self._tell(events.LeftoversFound(left))) as ledger:
            self._inside_ledger(ledger)
        if self._pauses is not None:
            self._pauses.compare(self._plan, self._ended_ns)
        return RunFacts(
            self._captures(),
            environment(self._backends, self._assignments, self._clock.dilation),
            plan=self._plan,
            not_dilated=not_dilated(self._plan, openflow_switches(self._plan)),
        )

    def _inside_ledger(self, ledger: Ledger) -> None:
        from testbed.worlds.emulated.network import build

        self._network = build(
            self._topology,
            ledger,
            self._interruption.check,
            spliced_links(self._assignments),
            self._clock,
            exact=is_exact(self._plan),
            lossless=self._scenario.pfc is not None,
            ports=udp_ports_of(self._plan.scenario),
        )
        self._openflow = OpenFlowSwitches(self._plan, self._network, ledger, self._run_dir)
        node_builder = self._openflow.builder(self._build)
        try:
            self._kernel_faults = KernelFaults(self._plan, self._assignments, self._network.splices)
            self._fleet = Fleet(ledger, node_builder, self._interruption, tell=self._tell, on_record=self._hear)
            if self._companion is not None:
                self._fleet.accompany(self._companion)
            tenants = Tenants(self._plan.background, self._network.pid, ledger, self._run_dir, self._tell, self._clock)
            try:
                tenants.listen()
                self._start()
                self._drive(tenants)
                tenants.finish()
                self._effects.end_pauses()
                self._fleet.stop(Role.HOST)
                self._fleet.stop(Role.SWITCH)
                self._openflow.check()
                if self._pauses is not None:
                    self._pauses.finish()
                self._measure()
                self._tell_kernel_faults()
                for event in self._kernel_faults.shortfalls():
                    self._tell(event)
            finally:
                tenants.close()
                self._fleet.close()
                self._kernel_faults.close()
        finally:
            self._openflow.stop()
            self._network.stop()

    def _start(self) -> None:
        with preload():
            on_devices = dict(self._scenario.nics)
            for name in on_devices:
                self._launch(name)
            if on_devices:
                self._plan = plan_with_names(self._plan, self._fleet.exchange_names(READY_TIMEOUT_S))
            if self._openflow.names:
                # Before its switches, which call it when they come up.
                self._launch(CONTROLLER)
                self._openflow.start(self._interruption.check)
            for node in self._topology.nodes:
                self._interruption.check()
                if node.name in on_devices or (node.name in self._openflow.names and not self._scenario.capture):
                    continue
                self._launch(node.name)
        self._fleet.await_all(FleetPhase.READY, READY_TIMEOUT_S)
        self._origin_ns = self._clock.read() + START_LEAD_NS
        self._machine_before = read_machine()
        self._kernel_faults.start(self._origin_ns)
        self._fleet.start(self._origin_ns)
        self._tell(events.TrafficStarted(len(self._topology.nodes)))
        for item in self._assignments:
            if item.backend == "netem" and item.fault:
                self._tell(events.FaultByChance(item.fault, item.target, item.direction))

    def _launch(self, name: str) -> None:
        lives = self._lives[name]
        self._lives[name] += 1
        if name == CONTROLLER and self._openflow.names:
            self._fleet.launch(*self._openflow.controller(lives))
            return
        task = NodeTask(self._plan, self._topology.node(name), self._network.interfaces(name), self._run_dir, lives)
        self._fleet.launch(task, self._network.pid(name))

    def _drive(self, tenants: Tenants) -> None:
        faults = self._scenario.faults
        schedule = list(make_schedule(faults, carrier_actions(faults, self._topology, self._openflow.names)))
        limit = self._scenario.time_limit_ns
        every_ns = sample_interval_ns(self._plan)
        looks = EmulatedLooks(every_ns, self._network, self._fleet, self._clock, self._tell)
        while not self._over():
            self._interruption.check()
            now = self._now()
            if now >= limit:
                self._tell(events.TimeLimitReached(limit, tuple(sorted(self._workers - self._settled()))))
                return
            while schedule and schedule[0].at_ns <= now:
                self._act(schedule.pop(0), schedule)
            self._openflow.check()
            self._tell_kernel_faults()
            looks.look(now)
            due = tenants.advance(now)
            acts = schedule[0].at_ns if schedule else _NEVER
            deadline = min(limit, self._give_up_ns, acts, looks.due_ns, _NEVER if due is None else due)
            self._fleet.pump(self._clock.real(max(0, deadline - self._now())) / 1e9)

    def _settled(self) -> set[str]:
        return self._finished | self._failed | self._dead

    def _over(self) -> bool:
        """Whether the run is over. Every worker is settled, or one failed and the others had their time to notice, or
        the companion has given up."""
        if self._companion is not None and self._companion.has_given_up:
            return True
        return not self._workers - self._settled() or self._now() >= self._give_up_ns

    def _act(self, action: Action, later: list[Action]) -> None:
        fleet, target = self._fleet, action.target
        if target in self._openflow.names:
            self._act_on_openflow(action)
            return
        match action.act:
            case Act.PAUSE:
                if fleet.signal(target, signal.SIGSTOP):
                    self._strike(action, "pause", "signal")
                    self._effects.begin_pause(action.fault, target, fleet.pid(target))
            case Act.RESUME:
                self._effects.end_pause(target)
                fleet.signal(target, signal.SIGCONT)
                self._tell(FaultHealed(action.fault, target))
            case Act.KILL:
                if fleet.is_alive(target):
                    self._strike(action, "kill", "signal")
                    fleet.kill(target)
                    comes_back = any(other.act is Act.RESTART and other.target == target for other in later)
                    self._dead |= set() if comes_back else {target} & self._workers
            case Act.RESTART:
                if not fleet.is_alive(target):
                    self._finished.discard(target)
                    self._failed.discard(target)
                    self._launch(target)
                    self._tell(FaultHealed(action.fault, target))
            case Act.CHANGE_RATE | Act.RESTORE_RATE:
                self._set_rate(action)
            case Act.CUT | Act.MEND:
                self._set_carrier(action)

    def _act_on_openflow(self, action: Action) -> None:
        """Its daemons are no node of the fleet."""
        switch, target = self._openflow, action.target
        match action.act:
            case Act.PAUSE:
                if switch.pause(target):
                    self._strike(action, "pause", "signal")
            case Act.RESUME:
                switch.resume(target)
                self._tell(FaultHealed(action.fault, target))
            case Act.KILL:
                if switch.is_alive(target):
                    switch.kill(target)
                    self._strike(action, "kill", "signal")
            case Act.RESTART:
                switch.restart(target)
                self._tell(FaultHealed(action.fault, target))

    def _set_carrier(self, action: Action) -> None:
        link = self._topology.link(action.target)
        is_fault_of_link = any(
            isinstance(fault, LinkDown) and fault.name == action.fault for fault in self._scenario.faults
        )
        if action.act is Act.CUT:
            self._openflow.cut(link, action.fault)
            if is_fault_of_link:
                self._strike(action, "link_down", "netlink")
        else:
            self._openflow.mend(link, action.fault)
            if is_fault_of_link:
                self._tell(FaultHealed(action.fault, link.name))

    def _set_rate(self, action: Action) -> None:
        link, direction = self._topology.link(action.target), action.direction
        assert direction is not None, "rate actions have a direction"
        rate_bps = effective_rate(self._scenario.faults, link.name, direction, action.at_ns, link.shape.rate_bps)
        carried, place = self._network.read_shaping(link, direction).bytes, (link.name, str(direction))
        before = self._rates.get(place, link.shape.rate_bps)
        self._network.set_rate(link, direction, rate_bps)
        self._rates[place] = rate_bps
        if action.act is Act.RESTORE_RATE:
            self._effects.end_rate(action.fault, place, carried)
            self._tell(FaultHealed(action.fault, link.name))
        elif rate_bps != before:
            self._strike(action, "rate_change", "netlink")
            self._effects.begin_rate(action.fault, place, carried)

    def _measure(self) -> None:
        elapsed = self._ended_ns = self._now()
        if (load := machine_load(self._machine_before)) is not None:
            self._tell(load)
        for link in self._topology.links:
            for direction in DIRECTIONS:
                reading = self._network.read_shaping(link, direction)
                self._effects.end_rates((link.name, str(direction)), reading.bytes)
                port = (link.a, link.a_port) if direction is Direction.UP else (link.b, link.b_port)
                self._tell(
                    events.ShapingMeasured(
                        link.name,
                        str(direction),
                        link.shape.rate_bps,
                        reading.bytes,
                        elapsed,
                        reading.drops + self._refused[port],
                        self._marks[port],
                        self._trimmed[port],
                        self._early[port],
                    )
                )

    def _now(self) -> int:
        """Emulated ns since the start of the traffic; 0 before."""
        return 0 if self._origin_ns is None else max(0, self._clock.since(self._origin_ns))

    def _tell(self, event: Event) -> None:
        if isinstance(event, events.NodeStarted):
            self._backends.add(event.backend)
        self._on_record(make_record(self._now(), "world", event))

    def _tell_kernel_faults(self) -> None:
        for at_ns, event in self._kernel_faults.events(self._now()):
            self._on_record(make_record(at_ns, "world", event))

    def _hear(self, record: Record) -> None:
        if isinstance(record.event, WorkerFinished):
            self._finished.add(record.node)
        elif isinstance(record.event, WorkerFellBack):
            self._finished.discard(record.node)
        elif isinstance(record.event, WorkerFailed):
            self._failed.add(record.node)
            self._give_up_ns = min(self._give_up_ns, self._now() + self._grace_ns())
        elif isinstance(record.event, QueueMarks):
            port = record.node, record.event.port
            self._marks[port] += record.event.marks
            self._trimmed[port] += record.event.trimmed
            self._refused[port] += record.event.refused
            self._early[port] += record.event.early
        (self._on_record if self._pauses is None else self._pauses.hear)(record)

    def _grace_ns(self) -> int:
        """How long the others may take to notice a failure: twice the time of all their attempts."""
        transport = self._scenario.transport
        rto_ns = 4_096 << code if (code := transport.chosen_timeout_code) else 0
        return max(self._clock.emulated(_GRACE_NS), 2 * rto_ns * (transport.retry_count + 1))

    def _strike(self, action: Action, kind: str, backend: str) -> None:
        self._tell(FaultStruck(action.fault, kind, backend, action.target, str(action.direction or ""), "", -1, -1, 1))

    def _captures(self) -> tuple[Path, ...]:
        names = (switch.name for switch in self._topology.switches)
        return tuple(path for name in names if (path := capture_path(self._run_dir, name)).exists())


def _also_needed(plan: Plan) -> Iterator[str]:
    """What only some scenarios ask of this machine, as probes of the doctor."""
    if any(flow.kind == "tcp" for flow in plan.background):
        yield "iperf3"
    if any(link.shape.priority != "none" for link in plan.scenario.topology.links):
        yield "priority"

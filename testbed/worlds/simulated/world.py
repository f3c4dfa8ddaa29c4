"""The simulated world: the Machines of the emulated one, on one agenda in virtual time. No root, no network, no
clock."""

from __future__ import annotations

import gc
import platform
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.events import SwitchSampled
from switch_nodes.program import slots_of
from switch_nodes.registry import create_program
from switch_nodes.tap import Tap
from testbed.captures.capture import PcapngTap
from testbed.history import Record, make_record
from testbed.history.events import (
    NodeExited,
    NodeStarted,
    QueuesSampled,
    ShapingMeasured,
    TimeLimitReached,
    TrafficStarted,
)  # fmt: skip
from testbed.kernel.garbage import seldom
from testbed.kernel.overdue import moving, must_answer
from testbed.plan import Plan, udp_ends
from testbed.plan.filters import make_filters
from testbed.scenario.own_program import ended_own_code, own_code
from testbed.scenario.protocols.own_code import blame
from testbed.terminal.activity import State, doing
from testbed.terminal.numbers import seconds
from testbed.worlds.base import SIMULATED_LIBRARIES, RunFacts, code_that_ran
from testbed.worlds.sampling import Sampler, sample_interval_ns
from testbed.worlds.simulated import looks
from testbed.worlds.simulated.circling import CirclingWatch
from testbed.worlds.simulated.clock import ClockedMachine, draw_clocks
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.lossless.without import first_loss, lossy
from testbed.worlds.simulated.native import choose_parts
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.node import SimulatedNode
from testbed.worlds.simulated.node_faults import BACKEND, NodeFaults
from testbed.worlds.simulated.nodes import name_drops
from testbed.worlds.simulated.reallimit import RealLimit
from testbed.worlds.simulated.telling import Telling
from testbed.worlds.simulated.wire import Wire
from topologies import DIRECTIONS, Direction
from workloads.background import with_flows
from workloads.config import NodeConfig
from workloads.errors import ScenarioError
from workloads.events import WorkerFailed, WorkerFellBack, WorkerFinished
from workloads.hosts import create_host
from workloads.machine import Event
from workloads.native.compiled import compiled_status

__all__ = ["ProgramFactory", "SimulatedWorld", "Simulation", "WorkerFactory", "make_taps", "make_worker", "simulate"]

ProgramFactory = Callable[[SwitchConfig], FinishingMachine]
WorkerFactory = Callable[[NodeConfig, int], FinishingMachine]
"""(configuration of a worker or server, when it starts by its own clock in ns)"""

_MANY_ELEMENTS = 1 << 22
_ACTOR_SPAN = 1 << 16
"""actor numbers of one node: itself, the filters of its ports, and from half-way on its outgoing wires"""
make_worker = create_host
"""(configuration, start_ns) -> the Machine of one host"""


class Simulation:
    """One run of a plan.

    `create` makes the switches' programs, `employ` the hosts' workers; `taps` watch switches, by name. `native=False`
    keeps the compiled loop out (the reference run of tests). `sample_ns`: the first interval at which queues, slots and
    marks are reported; 0: never. Sampling changes nothing. `real_limit_s`: after so much real time the run ends,
    wherever it is; None: never.
    """

    def __init__(
        self,
        plan: Plan,
        on_record: Callable[[Record], None],
        taps: Mapping[str, Tap] | None = None,
        create: ProgramFactory = create_program,
        employ: WorkerFactory = make_worker,
        *,
        native: bool = True,
        sample_ns: int = 0,
        real_limit_s: float | None = None,
    ) -> None:
        self._plan, self._on_record = plan, on_record
        scenario = plan.scenario
        telling = Telling(on_record, self._hear)
        self._tell = telling.tell
        parts = choose_parts(plan, self._tell, native=native)
        self.agenda, self.fabric = parts.agenda, parts.fabric
        telling.agenda = self.agenda
        self._workers = {worker.name for worker in plan.workers}
        self.nodes: dict[str, SimulatedNode] = {}
        self._wires: dict[tuple[str, Direction], Wire] = {}
        self._switches = {config.name for config in plan.switches}
        self._ports: list[tuple[str, str, Wire, bool]] = []
        self._last_wires: list[tuple[str, Wire]] = []
        """(host, wire that ends there)"""
        """(`LINK DIRECTION`, switch that sends into it, wire, whether it marks)"""
        self._actors = {node.name: index * _ACTOR_SPAN for index, node in enumerate(scenario.topology.nodes)}
        self._clocks = draw_clocks(scenario.clocks, scenario.seed, self._actors)
        for worker in plan.hosts:
            host = parts.host(
                worker.name,
                self._actors[worker.name],
                self.agenda,
                self._timed(worker.name, self._hire(employ, worker)),
                self._tell,
            )
            self.nodes[worker.name] = host
        for config in plan.switches:
            ingress, egress = make_filters(plan, config.name, backend=BACKEND)
            tap = (taps or {}).get(config.name)
            self.nodes[config.name] = parts.switch(
                config.name, self._actors[config.name], self.agenda, self._timed(config.name, partial(create, config)),
                self._tell, ingress, egress, tap,
            )  # fmt: skip
        for bystander in scenario.topology.hosts:
            if bystander.name not in self.nodes:
                self.nodes[bystander.name] = parts.host(
                    bystander.name, self._actors[bystander.name], self.agenda,
                    self._timed(bystander.name, partial(self._equip, bystander.name, None)), self._tell,
                )  # fmt: skip
        name_drops(self.nodes.values(), scenario)
        self._connect(parts.wire)
        parts.connect(scenario.topology, self.nodes, self._wires)
        self._node_faults = NodeFaults(self.agenda, scenario.topology, self.nodes, self._wires, self._tell)
        for number, fault in enumerate(scenario.faults):
            self._node_faults.plan(fault, (len(self._actors) + 1) * _ACTOR_SPAN + number)
        self._sampler = Sampler(sample_ns) if sample_ns else None
        self._open = set(self._workers)
        """workers that may still get somewhere"""
        self._real_limit = RealLimit(real_limit_s, self.nodes, telling.by_node)
        self._looks = looks.Looks(CirclingWatch(scenario.topology, self.nodes, telling.total), self._real_limit)

    @property
    def event_loop(self) -> str:
        """What runs it: `native`, the loop in C, where it can be built and knows all that the plan asks for. Otherwise
        `compiled` or `python`, the loop whose source is Python."""
        if isinstance(self.agenda, NativeAgenda):
            return "native"
        return "compiled" if compiled_status().available else "python"

    @property
    def packet_hops(self) -> int:
        """Frames that went over a wire so far, each wire counted."""
        return sum(wire.frames for wire in self._wires.values())

    def state(self) -> State:
        """How far it is, also for another thread while the compiled loop runs."""
        return State(f"{seconds(self.agenda.reached / 1e9)} of virtual time, {self.packet_hops:,} packet hops")

    def run(self) -> None:
        """Until every worker has finished, failed or died, or nothing more can happen, or a limit of time."""
        self.start()
        self.advance(self._plan.scenario.time_limit_ns, self._open.__len__)
        self.finish()

    @property
    def unfinished(self) -> frozenset[str]:
        """Workers that may still get somewhere."""
        return frozenset(self._open)

    def start(self) -> None:
        """The barrier falls: t = 0. Nothing happens before `advance`."""
        for place in self._plan.scenario.topology.nodes:
            self._tell("world", NodeStarted(place.name, str(place.role), BACKEND))
        self._tell("world", TrafficStarted(len(self.nodes)))
        for name, node in self.nodes.items():
            self.agenda.at(0, self._actors[name], lambda started: started.start(), node)

    def advance(self, limit: int, goes_on: Callable[[], object]) -> bool:
        """Go on while `goes_on()`. False, and recorded: nothing more can happen by `limit` (ns since the start), or the
        limit of real time is over. Raises Livelock, or ProgramFailed, for a node that does not come to an end."""
        with seldom():
            return self._advance(limit, goes_on)

    def _advance(self, limit: int, goes_on: Callable[[], object]) -> bool:
        sampler = self._sampler
        while sampler is not None and sampler.due_ns < limit:
            if self.agenda.run(sampler.due_ns, goes_on, self._looks.look, looks.EVERY):
                return self._went_on()
            following = self.agenda.next_time()
            if following is None:
                break
            self._sample(sampler.due_ns, sampler.interval_ns)
            sampler.looked(following)
        if self.agenda.run(limit, goes_on, self._looks.look, looks.EVERY):
            return self._went_on()
        self._tell("world", TimeLimitReached(limit, tuple(sorted(self._open))))
        return False

    def _went_on(self) -> bool:
        if self._real_limit.is_over:
            self._tell("world", self._real_limit.event(self.unfinished))
        return not self._real_limit.is_over

    def _sample(self, now: int, every_ns: int) -> None:
        """Tell what waits, what is held and what was marked, between two appointments."""
        waiting, arrived, marks = dict[str, int](), dict[str, int](), dict[str, dict[str, int]]()
        for switch in self._plan.switches:
            marks[switch.name] = {}
        for name, node, wire, does_mark in self._ports:
            if wire.waiting:
                waiting[name] = wire.waiting
            if does_mark:
                marks[node][name] = wire.marks
        for host, wire in self._last_wires:
            arrived[host] = arrived.get(host, 0) + _arrived_bits(wire, now)
        self._on_record(make_record(now, "world", QueuesSampled(every_ns, waiting, arrived)))
        for name, marked in marks.items():
            slots = slots_of(self.nodes[name].machine)
            if slots is not None or marked:
                self._on_record(make_record(now, name, SwitchSampled(slots, marked)))

    def nudge(self, name: str) -> None:
        """Something from outside happened to this node's Machine: look at it again, right now."""
        self.agenda.at(self.agenda.now, self._actors[name], lambda node: node.settle(), self.nodes[name])

    def _timed(self, node: str, make: Callable[[], FinishingMachine]) -> Callable[[], FinishingMachine]:
        """`make`, of a Machine that lives by its node's clock."""
        clock = self._clocks.get(node)
        return make if clock is None else lambda: ClockedMachine(make(), clock)

    def _hire(self, employ: WorkerFactory, config: NodeConfig) -> Callable[[], FinishingMachine]:
        """`employ` for each life of a worker in turn; it starts with the traffic, by its node's clock."""
        lives, start_ns = count(), self._start_ns(config.name)
        return lambda: self._equip(config.name, employ(config.reborn(next(lives)), start_ns))

    def _equip(self, host: str, worker: FinishingMachine | None) -> FinishingMachine:
        """The host with the background flows that begin or end there."""
        return with_flows(worker, *udp_ends(self._plan.background, host, self._start_ns(host)))

    def _start_ns(self, host: str) -> int:
        clock = self._clocks.get(host)
        return 0 if clock is None else clock.local(0)

    def _connect(self, wire_type: type[Wire]) -> None:
        for link in self._plan.scenario.topology.links:
            ends = {Direction.UP: ((link.a, link.a_port), (link.b, link.b_port))}
            ends[Direction.DOWN] = ends[Direction.UP][::-1]
            for direction in DIRECTIONS:
                (sender, out_port), (receiver, in_port) = ends[direction]
                actor = self._actors[sender] + _ACTOR_SPAN // 2 + out_port
                wire = wire_type(self.agenda, actor, link.shape)
                wire.leads_to(self.nodes[receiver], in_port)
                wire.link, wire.direction = link.name, str(direction)
                self.nodes[sender].attach(out_port, wire)
                self._wires[link.name, direction] = wire
                if receiver not in self._switches:
                    self._last_wires.append((receiver, wire))
                if sender in self._switches:
                    does_mark = link.shape.marks
                    self._ports.append((f"{link.name} {direction}", sender, wire, does_mark))

    def finish(self) -> None:
        """Tell the ends of all nodes and links."""
        self._node_faults.finish()
        if self._sampler is not None:
            self._sample(self.agenda.now, self._sampler.interval_ns)
        for node in self.nodes.values():
            node.finish()
        for link in self._plan.scenario.topology.links:
            for direction in DIRECTIONS:
                wire = self._wires[link.name, direction]
                self._tell(
                    "world",
                    ShapingMeasured(
                        link.name,
                        str(direction),
                        link.shape.rate_bps,
                        wire.bytes,
                        wire.last_at - wire.first_at,
                        wire.drops,
                        wire.marks,
                        wire.trimmed,
                        wire.early,
                    ),
                )
        for name, node in self.nodes.items():
            if node.alive:
                self._tell("world", NodeExited(name, 0, True, ""))

    def _hear(self, node: str, event: Event) -> None:
        match event:
            case WorkerFinished() | WorkerFailed():
                self._open.discard(node)
            case WorkerFellBack():
                self._open.add(node)
            case NodeExited(node=gone) if not self._node_faults.revivals.get(gone):
                self._open.discard(gone)
            case NodeStarted(node=back) if back in self._workers:
                self._open.add(back)


def simulate(
    plan: Plan,
    taps: Mapping[str, Tap] | None = None,
    create: ProgramFactory = create_program,
    employ: WorkerFactory = make_worker,
) -> list[Record]:
    """The history of one run of the plan."""
    records: list[Record] = []
    Simulation(plan, records.append, taps, create, employ).run()
    return records


class SimulatedWorld:
    """World: needs nothing of this machine and makes nothing on it."""

    name = "simulated"

    def __init__(self, taps: Mapping[str, Tap] | None = None, real_limit_s: float | None = None) -> None:
        """`taps`: what hears what switches see, by name, instead of files in the run directory. Code of the
        user's own runs in a process of its own, and leaves files all the same. `real_limit_s`: of a run by the clock on
        the wall; None: it may take as long as it does."""
        self._taps, self._real_limit_s = taps, real_limit_s

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """As World.run. Two runs of one plan tell the same records in the same order. Nothing but captures is made.
        Raises ScenarioError for background TCP and for hosts on devices."""
        for host, device in plan.scenario.nics:
            raise ScenarioError(
                "a device works in real time only", key=f"nics.{host}", found=f"verbs:{device}", allowed="soft"
            )
        if self.name not in plan.scenario.worlds:
            raise ScenarioError(
                "TCP runs in the emulated world only",
                key="background",
                allowed="flows of kind udp, or --world emulated",
            )
        if own_code(plan.scenario) is not None:
            # Whatever the user's code does to its process, we are there to tell it; as in the emulated world. Imported
            # here: a simulation of ours needs nothing of Linux.
            from testbed.kernel.apart import Ended, run_apart

            try:
                return run_apart(lambda tell: self._simulate(plan, run_dir, tell), on_record)
            except Ended as end:
                raise ended_own_code(plan.scenario, end.status, overdue=end.overdue) from end
        return self._simulate(plan, run_dir, on_record)

    def _simulate(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        files = make_taps(plan, run_dir) if plan.scenario.capture and self._taps is None else {}
        taps: Mapping[str, Tap] = files if self._taps is None else self._taps
        try:
            with blame(plan.scenario.job.protocol, "protocol"):
                with must_answer(), doing(f"setting up {len(plan.scenario.topology.nodes):,} nodes"):
                    sample_ns = sample_interval_ns(plan)
                    simulation = Simulation(plan, on_record, taps, sample_ns=sample_ns, real_limit_s=self._real_limit_s)
                with must_answer(), moving(partial(getattr, simulation.agenda, "now")), doing(simulation.state):
                    simulation.run()
                if simulation.fabric is not None and simulation.fabric.needs_comparison:
                    with must_answer(), doing("repeating the run without PFC"):
                        twin = Simulation(lossy(plan), lambda record: None, real_limit_s=self._real_limit_s)
                        on_record(first_loss(twin, simulation.agenda.now))
            event_loop = simulation.event_loop
            with doing("giving memory back"):
                del simulation
        finally:
            with doing("closing captures"):
                for tap in taps.values():
                    tap.close()
        if sum(worker.workload.elements for worker in plan.workers) > _MANY_ELEMENTS:
            # Nodes hold each other. Their gradients would stay beside those that the checkers make anew.
            with doing("giving memory back"):
                gc.collect()
        environment = {
            "world": self.name,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "event_loop": event_loop,
            **code_that_ran(*SIMULATED_LIBRARIES),
        }
        return RunFacts(captures=tuple(tap.path for tap in files.values()), environment=environment)


def _arrived_bits(wire: Wire, now: int) -> int:
    """So far; of the frame that is on the wire its share. No method of Wire: compiled, that would read its own fields,
    which a NativeWire has in C."""
    return 8 * wire.bytes - max(0, wire.last_at - now) * wire.rate_bps // 10**9


def make_taps(plan: Plan, run_dir: Path) -> dict[str, PcapngTap]:
    """A capture per switch; its interfaces are the links in port order."""
    topology = plan.scenario.topology
    links = {config.name: [link.name for _, link, _ in sorted(topology.ports(config.name))] for config in plan.switches}
    return {name: PcapngTap(run_dir / f"{name}.pcapng", of_it, held_bytes=1 << 20) for name, of_it in links.items()}

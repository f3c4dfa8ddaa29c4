"""The lab world: the plan of a scenario on hosts and a card that SSH leads to.

check -> deploy -> lease -> program -> attach -> configure -> start -> workers at the barrier -> go -> collect ->
release. Whatever fails, workers are stopped, the card passes nothing, and leases are given back.
"""

from __future__ import annotations

import platform
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from testbed.history import Record, make_record
from testbed.history.events import LeftoversFound, NodeExited, NodeStarted, TimeLimitReached, TrafficStarted
from testbed.history.lab_events import LabStep
from testbed.kernel.interruption import Interruption
from testbed.lab.agent.answers import ProcessStatus
from testbed.lab.agent.requests import IsReady, Request, ShowStatus
from testbed.lab.client import ConnectionEnded
from testbed.lab.drivers import HostDriver, LabCardDriver, Undoing, read_bitstream
from testbed.lab.emulated.cables import cables_text
from testbed.lab.lab import Lab, Tell
from testbed.lab.model import Card, Host, Inventory
from testbed.plan import Plan, make_plan
from testbed.plan.nodeconfig import dump_node_config
from testbed.scenario.transports import udp_ports_of
from testbed.worlds.base import NODE_LIBRARIES, RunFacts
from testbed.worlds.lab.cardside import configure_card, tell_card
from testbed.worlds.lab.gathering import by_host, clock_of, read_lines, worker_records
from testbed.worlds.lab.placing import choose_card, localised, places, refuse_for_lab, worker_of
from workloads.errors import InternalError, LabError
from workloads.machine import Event

__all__ = ["LabWorld"]

_READY_TIMEOUT_S = 60.0
_POLL_S = 0.2
_GRACE_S = 5.0
_LEASE_MARGIN_S = 300.0
_AT_HOSTS = "transparency: rules 2 to 5 and 9, which need a capture at the switch; hosts captured, the card does not"

_Answer = TypeVar("_Answer")


class LabWorld:
    """The card gets its bitstream of the inventory; where there is none, it runs what is loaded."""

    name = "lab"

    def __init__(self, inventory: Inventory, tell: Tell | None = None, state: Path | None = None) -> None:
        self._inventory, self._tell, self._state = inventory, tell, state
        self.replay_options = f" --inventory {inventory.file}"

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """Records come when all is over. Raises ScenarioError for what a lab cannot be, before it touches anything;
        LabError with the first host that failed; KeyboardInterrupt after SIGINT, with everything ended and given back.
        """
        card = choose_card(self._inventory)
        refuse_for_lab(plan.scenario, card, self._inventory.dilation)
        for worker in plan.workers:
            worker_of(worker)
        seats = places(plan.scenario, self._inventory, card)
        bitstream = read_bitstream(card)
        run_dir.mkdir(parents=True, exist_ok=True)

        def tell(step: LabStep) -> None:
            on_record(make_record(0, "world", step))
            if self._tell is not None:
                self._tell(step)

        with Interruption() as interruption, Lab(self._inventory, tell, state=self._state) as lab, lab.owner.alone():
            return _Run(plan, lab, card, seats, run_dir, on_record, interruption).go(bitstream)


class _Run:
    def __init__(
        self,
        plan: Plan,
        lab: Lab,
        card: Card,
        seats: dict[str, tuple[str, str]],
        run_dir: Path,
        on_record: Callable[[Record], None],
        interruption: Interruption,
    ) -> None:
        self._plan, self._lab, self._card, self._seats = plan, lab, card, seats
        self._run_dir, self._on_record, self._check = run_dir, on_record, interruption.check
        inventory = lab.inventory
        self._card_host = inventory.hosts[card.host]
        self._workers = [inventory.hosts[host] for host, _ in seats.values()]
        self._hosts = list({host.name: host for host in [*self._workers, self._card_host]}.values())
        self._role = {host: name for name, (host, _) in seats.items()}
        """host of the lab -> host of the scenario"""
        self._id = f"{plan.scenario.name[:60]}-{plan.scenario.seed}-{secrets.token_hex(4)}"
        self._partial: list[str] = []
        self._dilation = inventory.dilation
        self._at_hosts = plan.scenario.capture and card.trace is None
        """whether hosts capture, since the card does not"""

    def go(self, bitstream: bytes | None) -> RunFacts:
        hosts = HostDriver(self._lab, self._hosts)
        hosts.check(needs_version=False)
        hosts.deploy()
        self._check()
        limit_s = self._plan.scenario.time_limit_ns / 1e9 * self._dilation
        # A lease that we had before stays; what would have ended with it is undone step by step.
        with Undoing({"lease": hosts.held()}) as undoing:
            workers = HostDriver(self._lab, self._workers, undoing)
            card = LabCardDriver(self._lab, self._card.name, undoing)
            HostDriver(self._lab, self._hosts, undoing).lease(seconds=limit_s + _LEASE_MARGIN_S, purpose="run")
            self._code = workers.code(libraries=NODE_LIBRARIES)
            self._prepare(workers, card, bitstream)
            self._drive(workers, limit_s)
            card.stop()
            self._collect(workers, card)
        self._tell_leftovers(hosts)
        return RunFacts(self._captures(), self._environment(), partial=tuple(self._partial), plan=self._plan)

    def _tell_leftovers(self, hosts: HostDriver) -> None:
        left = [
            f"{host} runs {name}"
            for host, found in hosts.status().items()
            for name in (*found.running, *(f"guard of {device}" for device in found.attached))
            if name.startswith((f"{self._id}/", "guard"))
        ]
        if left:
            self._tell(LeftoversFound(tuple(left)))

    def _prepare(self, workers: HostDriver, card: LabCardDriver, bitstream: bytes | None) -> None:
        if bitstream is not None:
            card.program(bitstream=bitstream)
        self._check()
        mtu = max(link.shape.mtu for link in self._plan.scenario.topology.links)
        labels = dict(self._seats.values())
        ports = udp_ports_of(self._plan.scenario)
        facts = workers.attach(mtu=mtu, ports=ports, each=lambda host: {"label": labels[host.name]})
        by_role = {self._role[host]: found for host, found in facts.items()}
        scenario = localised(self._plan.scenario, by_role)
        self._plan = make_plan(replace(scenario, dilation=self._dilation) if self._dilation != 1 else scenario)
        (switch,) = self._plan.switches
        if self._card.cables is not None:
            card.cables(text=cables_text(self._plan.scenario, self._dilation))
        configure_card(card, switch)
        configs = {worker.name: worker for worker in self._plan.workers}

        def each(host: Host) -> dict[str, Any]:
            role = self._role[host.name]
            device, config = host.interface(labels[host.name]).device, dump_node_config(worker_of(configs[role]))
            return {"name": role, "device": device, "config": config}

        busy = [host for host in self._workers if self._role[host.name] in configs]
        HostDriver(self._lab, busy, workers.undoing).prepare(run=self._id, capture=self._at_hosts, each=each)
        self._await_barrier()

    def _await_barrier(self) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        waiting = list(self._workers)
        while waiting:
            self._check()
            waiting = [host for host in waiting if not self._is_ready(host)]
            if waiting and time.monotonic() > deadline:
                raise LabError(waiting[0].name, f"its worker was not ready within {_READY_TIMEOUT_S:g} s")
            time.sleep(_POLL_S if waiting else 0)

    def _is_ready(self, host: Host) -> bool:
        """Raises LabError when the worker ended instead."""
        found = self._ask(host, ShowStatus(self._id))
        if found.exit is not None:
            raise LabError(host.name, f"its worker ended with exit status {found.exit}", found.errors)
        return self._ask(host, IsReady(self._id))

    def _ask(self, host: Host, request: Request[dict[str, _Answer]]) -> _Answer:
        """What an agent says of its worker. Where the connection broke, by a new one: host and worker may well go
        on."""
        try:
            found = self._lab.agent(host).ask(request)
        except ConnectionEnded:
            self._lab.forget(host)
            found = self._lab.agent(host).ask(request)
        return found[self._role[host.name]]

    def _drive(self, workers: HostDriver, limit_s: float) -> None:
        workers.go(run=self._id)
        deadline = time.monotonic() + limit_s
        running, give_up = list(self._workers), deadline
        self._exits: dict[str, ProcessStatus] = {}
        while running:
            self._check()
            for host in list(running):
                found = self._ask(host, ShowStatus(self._id))
                if found.exit is not None or found.state:
                    self._exits[host.name] = found
                    running.remove(host)
                if found.exit or found.state == "failed":
                    give_up = min(give_up, time.monotonic() + self._grace_s())
            if running and give_up < deadline and time.monotonic() > give_up:
                break
            if running and time.monotonic() > deadline:
                unfinished = tuple(sorted(self._role[host.name] for host in running))
                limit_ns = self._plan.scenario.time_limit_ns
                self._tell(TimeLimitReached(limit_ns, unfinished), limit_ns)
                break
            time.sleep(_POLL_S if running else 0)
        statuses = workers.stop(run=self._id)
        for name, ended in statuses.items():
            exited = self._exits.get(name, ProcessStatus())
            self._exits[name] = replace(exited, exit=ended[self._role[name]])

    def _grace_s(self) -> float:
        """How long the others may take to notice a failure: all their attempts, twice."""
        transport = self._plan.scenario.transport
        rto_s = 4.096e-6 * (1 << code) if (code := transport.chosen_timeout_code) else 0.0
        return max(_GRACE_S, 2 * rto_s * (transport.retry_count + 1) * self._dilation)

    def _tell(self, event: Event, t: int = 0) -> None:
        self._on_record(make_record(t, "world", event))

    def _collect(self, workers: HostDriver, card: LabCardDriver) -> None:
        folder = self._run_dir / "hosts"
        files = workers.collect(run=self._id, out=folder)
        histories: dict[str, list[Record]] = {}
        for host, paths in files.items():
            role = self._role[host]
            history = next((path for path in paths if path.name == f"{host}-{role}.jsonl"), None)
            if history is None:
                raise LabError(host, f"its worker left no history ({', '.join(path.name for path in paths)})")
            histories[host] = list(read_lines(history, host))
            for path in paths:
                if path.name == f"{host}-{role}.pcapng":
                    path.replace(self._run_dir / f"{role}.pcapng")
        starts = [clock for records in histories.values() if (clock := clock_of(records)) is not None]
        if not starts:
            raise InternalError("no worker passed the barrier")
        origin = min(starts)
        self._tell(TrafficStarted(len(histories) + 1))
        for host, records in histories.items():
            role = self._role[host]
            self._tell(NodeStarted(role, "host", "lab"))
            for record in worker_records(records, role, origin, self._dilation):
                self._on_record(record)
            found = self._exits.get(host)
            if found is not None and found.exit is not None:
                self._tell(NodeExited(role, found.exit, found.exit in (0, 1), found.errors))
                if found.exit not in (0, 1):
                    raise LabError(host, f"its worker ended with exit status {found.exit}", found.errors)
        self._tell_card(card, folder, origin)
        workers.remove(run=self._id)

    def _tell_card(self, card: LabCardDriver, folder: Path, origin: int) -> None:
        (switch,) = self._plan.switches
        self._tell(NodeStarted(switch.name, "switch", "card"))
        capture = self._run_dir / f"{switch.name}.pcapng" if self._plan.scenario.capture else None
        self._partial += tell_card(card, switch.name, folder, origin, self._on_record, capture, self._dilation)
        if self._at_hosts:
            self._partial.append(_AT_HOSTS)

    def _captures(self) -> tuple[Path, ...]:
        names = self._role.values() if self._at_hosts else [switch.name for switch in self._plan.switches]
        paths = [self._run_dir / f"{name}.pcapng" for name in names]
        return tuple(path for path in paths if path.exists())

    def _environment(self) -> dict[str, str]:
        import numpy

        hosts = self._names(self._workers)
        return {
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "lab": self._lab.inventory.name,
            "hosts": hosts,
            "code": by_host({host: found.code for host, found in self._code.items()}),
            "host_version": by_host({host: found.version for host, found in self._code.items()}),
            "host_python": by_host({host: found.python for host, found in self._code.items()}),
            "card": f"{self._card.name} of {self._card_host.name}",
            "faults": "none: hardware" if self._card.cables is None else "on the cables of the emulated card",
            "dilation": str(self._dilation),
        }

    def _names(self, hosts: Sequence[Host]) -> str:
        return ", ".join(host.name for host in hosts)

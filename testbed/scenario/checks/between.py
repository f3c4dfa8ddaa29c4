"""What must hold between the sections of a scenario, as far as they are known: a check ends where it would need a key
that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from testbed.reading.keytypes import At
from testbed.reading.problems import KeyPath, Problems
from testbed.reading.sections import NotKnown, as_far_as_known
from testbed.scenario.checks.card import check_card
from testbed.scenario.checks.classes import check_classes, check_queues
from testbed.scenario.checks.contract import scenario_protocol
from testbed.scenario.checks.datagrams import check_no_devices
from testbed.scenario.checks.fault_checks import check_conflicts, check_window
from testbed.scenario.checks.fault_effects import busy_hosts, check_effects
from testbed.scenario.checks.fit import (
    check_clocks,
    check_commodity,
    check_job,
    check_job_hosts,
    check_knobs,
    check_mtu,
    check_operation,
    check_path_mtu,
    check_program,
    check_switch_memory,
)
from testbed.scenario.checks.irn import check_irn
from testbed.scenario.checks.pfc import check_no_pfc, check_pfc
from testbed.scenario.checks.sections import KnownSections
from testbed.scenario.checks.server import check_server_keys
from testbed.scenario.checks.trim import check_trim
from testbed.scenario.keys.background import BackgroundFlow, check_background, check_payloads
from testbed.scenario.keys.beside import Beside, Party, check_parties, inside_of
from testbed.scenario.keys.between_jobs import check_arrivals, check_layers, check_real_nodes, check_stages
from testbed.scenario.keys.clocks import Clocks
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job, JobEntry
from testbed.scenario.keys.nics import check_nics
from testbed.scenario.keys.pfc import Pfc
from testbed.scenario.keys.routing import Routing, check_routing
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.topology_kinds import KnownNetwork
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.own_code import require
from testbed.scenario.protocols.owned_keys import check_owned_keys
from topologies import Topology
from workloads.ownvalues import NOTHING

__all__ = ["Sections", "check_between"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """Of one file. None: it is not known; a section that is there may lack keys that are wrong."""

    world: str | None
    time_limit_ns: int | None
    trace: bool
    network: KnownNetwork | None
    switch: SwitchOptions | None
    transport: Transport | None
    clocks: Clocks | None
    pfc: Pfc | None
    job: Job | None
    jobs: Sequence[Job | None]
    routing: Routing | None
    nics: tuple[tuple[str, str], ...]
    faults: list[Placed]
    background: tuple[BackgroundFlow, ...]
    beside: tuple[Sections, ...] = ()
    """the sections of each entry for another protocol"""

    def values(self) -> dict[str, Any]:
        """What follows from several sections, for the scenario."""
        assert self.network is not None
        assert self.transport is not None
        return {
            "topology": self.network.topology,
            "link": self.network.link,
            "switch": self.switch,
            "job": self.job,
            "jobs": tuple(self.jobs),
            "beside": tuple(each.as_beside() for each in self.beside),
            "nics": self.nics,
            "transport": self.transport,
            "faults": tuple(fault for _, _, fault in self.faults),
        }

    def as_beside(self) -> Beside:
        """The entry for another protocol, where nothing is wrong."""
        assert self.job is not None
        assert self.transport is not None
        return Beside(self.job, self.transport, tuple(job for job in self.jobs if job is not None))

    @property
    def topology(self) -> Topology | None:
        return None if self.network is None else self.network.topology

    @property
    def shapes(self) -> KnownNetwork | None:
        """The network where the shapes of all links are known."""
        return self.network if self.network is not None and self.network.shapes_known else None

    @property
    def entries(self) -> list[tuple[KeyPath, Job]]:
        """Of `jobs`, with their places."""
        return [(("jobs", index), job) for index, job in enumerate(self.jobs) if job is not None]

    @property
    def parties(self) -> list[Party]:
        """Of the protocols that are known."""
        all_of_them = [((), self), *((("beside", index), each) for index, each in enumerate(self.beside))]
        return [
            Party(path, each.job, [job for job in each.jobs if job is not None])
            for path, each in all_of_them
            if each.job is not None
        ]


def check_between(at: At, data: dict[str, Any], sections: Sections) -> None:
    """Tell all that is wrong. `data`: what the file holds."""
    _Between(at, data, sections).check()


@dataclass(frozen=True, slots=True)
class _Between:
    at: At
    data: dict[str, Any]
    of: Sections
    problems: Problems = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "problems", self.at.problems)

    def check(self) -> None:
        of, topology = self.of, self.of.topology
        hosts = _known(self._hosts)
        if of.job is not None and _known(lambda: of.job and of.job.hosts):
            self._run(check_job_hosts, topology, of.job)
        if of.routing is not None and topology is not None:
            check_routing(self.at / "routing", of.routing, topology, of.job)
        check_background(self.at / "background", of.background, of.world, topology)
        if of.shapes is not None:
            self._run(check_mtu, of.shapes.topology, of.shapes.link, of.job, of.transport)
            self._run(check_trim, of.shapes.topology, of.shapes.link, of.job, of.switch, of.nics)
            self._run(check_classes, of.shapes.topology, of.shapes.link)
            self._run(check_queues, of.world, of.shapes.topology, of.shapes.link)
            check_payloads(self.at / "background", of.background, of.shapes.topology)
        self._run(check_path_mtu, of.job, of.transport)
        if of.job is not None:
            self._check_jobs(of.job, hosts)
        self._run(check_program, of.switch, of.job)
        self._run(check_knobs, of.switch, of.job)
        self._run(check_commodity, of.switch, topology)
        self._run(check_card, topology, of.switch, of.trace)
        self._run(check_irn, of.transport, of.job, of.switch, of.nics)
        if of.switch is not None and of.transport is not None and of.job is not None:
            with as_far_as_known():
                check_switch_memory(self.problems, hosts, of.switch, of.transport, of.job)
        self._check_faults(hosts)
        if of.world is not None:
            with as_far_as_known():
                check_nics(self.problems, of.world, of.nics, [fault for _, _, fault in of.faults])
            self._run(check_clocks, of.world, of.clocks)
        if of.pfc is None:
            self._run(check_no_pfc, of.switch, of.faults)
        else:
            self._run(check_pfc, of.pfc, of.world, of.shapes and of.shapes.topology, of.switch, of.faults)
        if of.nics:
            self._run(check_no_devices, of.job, of.nics)
        if of.beside and check_parties(self.problems, of.parties, of.world, topology, self.data):
            for party in self._parties(self.problems):
                party.check()

    def _parties(self, problems: Problems) -> list[_Between]:
        """One check for each entry of another protocol. Switches only forward its packets."""
        return [
            _Between(At(inside_of(problems, ("beside", index))), self._given(("beside", index)), sections)
            for index, sections in enumerate(self.of.beside)
        ]

    def _run(self, check: Callable[..., None], *needed: Any) -> None:
        """Where all is there that the check needs."""
        if all(item is not None for item in needed):
            with as_far_as_known():
                check(self.problems, *needed)

    def _hosts(self) -> int | None:
        """That may run the job."""
        job, topology = self.of.job, self.of.topology
        if job is None:
            return None if topology is None else len(topology.hosts)
        if job.hosts:
            return len(job.hosts)
        return None if topology is None else len(topology.hosts) - bool(job.server)

    def _check_jobs(self, job: Job, hosts: int | None) -> None:
        of, entries = self.of, self.of.entries
        every = entries or [(("job",), job)]
        given = set(self._given(("job",)))
        self._run(check_layers, every)
        self._run(check_stages, every)
        held = {path: set(self._given(path)) for path, _ in entries}
        for path, section in ((("job",), Job), (("transport",), Transport), *((path, JobEntry) for path in held)):
            with as_far_as_known():
                check_owned_keys(self.problems, path, section, self._given(path), job.protocol)
        self._run(check_server_keys, job, {("job",): given, **held}, entries)
        with as_far_as_known():
            check_job(self.problems, hosts, job, given)
            check_operation(self.problems, job, hosts, given, has_entries=bool(entries))
        for path, each in entries:
            with as_far_as_known():
                check_job(self.problems, len(each.hosts), each, held[path], path)
        self._run(check_arrivals, every, of.time_limit_ns)
        if of.topology is not None:
            with as_far_as_known():
                check_real_nodes(self.problems, of.topology, of.world)
        sections = KnownSections(
            problems=self.problems, job=job, entries=entries, nics=of.nics, routing=of.routing,
            maybe_topology=of.topology, maybe_link=None if of.shapes is None else of.shapes.link,
            maybe_switch=of.switch, maybe_transport=of.transport, maybe_world=of.world,
        )  # fmt: skip
        with as_far_as_known():
            self._check_protocol(job.protocol, sections)
        with as_far_as_known():
            if job.runs != job.protocol:
                self._check_protocol(job.runs, sections)

    @staticmethod
    def _check_protocol(name: str, sections: KnownSections) -> None:
        check: Callable[..., object] = scenario_protocol(name).check
        require(check, check(sections), NOTHING)

    def _given(self, path: KeyPath) -> dict[str, Any]:
        """What the file holds at a section."""
        value: Any = self.data
        for part in path:
            value = value[part] if isinstance(part, int) else value.get(part)
        return value if isinstance(value, dict) else {}

    def _check_faults(self, hosts: int | None) -> None:
        of, topology = self.of, self.of.topology
        ranks = _known(lambda: self._ranks(hosts))
        for placed in of.faults:
            if of.time_limit_ns is not None:
                with as_far_as_known():
                    check_window(self.problems, placed[0], placed[2], of.time_limit_ns)
            if not any(party._can_strike(placed) for party in self._parties(self.problems)):
                with as_far_as_known():
                    self._check_match(placed, ranks)
        if topology is None:
            return
        check_conflicts(self.problems, of.faults, topology)
        with as_far_as_known():
            if of.job is not None:
                jobs = [job for party in of.parties for _, job in party.all_jobs]
                busy = busy_hosts(topology, jobs, of.background)
                check_effects(self.problems, of.faults, topology, busy, of.shapes is not None)

    def _can_strike(self, placed: Placed) -> bool:
        """Whether nothing keeps the fault from what these jobs send."""
        trial = replace(self, at=At(Problems(self.problems.file, {})))
        with as_far_as_known():
            trial._check_match(placed, _known(lambda: self._ranks(_known(self._hosts))))
            return not trial.problems
        return False

    def _ranks(self, hosts: int | None) -> int | None:
        """Of a job, at most."""
        if self.of.entries:
            return max(len(job.hosts) for _, job in self.of.entries)
        return hosts // self.of.job.copies if hosts is not None and self.of.job is not None else hosts

    def _check_match(self, placed: Placed, ranks: int | None) -> None:
        """Check that the fault can apply to what the job sends."""
        job, transport = self.of.job, self.of.transport
        if job is None or transport is None:
            return
        check: Callable[..., object] = scenario_protocol(job.protocol).check_fault
        require(check, check(self.problems, placed, job, transport, ranks), NOTHING)


def _known(ask: Callable[[], Any]) -> Any:
    """The answer, or None where it is not known."""
    try:
        return ask()
    except NotKnown:
        return None

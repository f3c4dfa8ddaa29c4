"""YAML -> Scenario. Every problem of a file is told at once, with file, line, key, what was found, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from switch_nodes.jobs import AggregatorKnobs
from testbed.faults.model import PacketFault
from testbed.reading.problems import KeyPath, Place, Problems, show
from testbed.reading.validate import key_names, validate_section
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario.background import load_background
from testbed.scenario.builtin import find_scenario
from testbed.scenario.checks import (
    check_clocks,
    check_commodity,
    check_job,
    check_job_hosts,
    check_knobs,
    check_mtu,
    check_path_mtu,
    check_program,
    check_switch_memory,
)
from testbed.scenario.checks_card import check_card
from testbed.scenario.checks_datagrams import check_copies, check_datagram_fault, check_no_devices
from testbed.scenario.checks_jobs import check_arrivals, check_layered, check_layers, check_rack
from testbed.scenario.checks_server import check_aimd, check_server_keys, with_server
from testbed.scenario.checks_uc import check_no_framing
from testbed.scenario.clocks import TRUE_CLOCKS, Clocks
from testbed.scenario.congestion import load_dcqcn
from testbed.scenario.fault_checks import check_conflicts, check_match, check_window
from testbed.scenario.fault_effects import busy_hosts, check_effects
from testbed.scenario.fault_loader import Placed, load_faults
from testbed.scenario.geometry import geometry_of
from testbed.scenario.job_loader import load_job, load_jobs, with_size
from testbed.scenario.known import protocol_of
from testbed.scenario.model import CONTROLLER, Job, Scenario, SwitchOptions, Transport
from testbed.scenario.nics import check_nics, load_nics
from testbed.scenario.overrides import apply_override
from testbed.scenario.routing import load_routing
from testbed.scenario.schema import ClockKeys, KnobKeys, ScenarioKeys, SwitchKeys, TransportKeys
from testbed.scenario.sections import call_check
from testbed.scenario.topology_kinds import load_topology
from workloads.errors import ScenarioError

__all__ = ["load_scenario", "parse_scenario"]


def load_scenario(
    name_or_path: str, overrides: Sequence[str] = (), seed: int | None = None, world: str | None = None
) -> Scenario:
    """A built-in by name, or a file. `overrides` are `key.path=value`; `seed` and `world` override the file's.

    Raises ScenarioError (InvalidScenario when the text is YAML): all problems, in file order.
    """
    path, shown = find_scenario(name_or_path)
    return parse_scenario(read_text(path, shown), shown, overrides, seed, world, path.parent)


def parse_scenario(
    text: str,
    source: str,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    world: str | None = None,
    folder: Path | None = None,
) -> Scenario:
    """As `load_scenario`, from text; `source` is the file name that messages show, `folder` where other files are named from
    (None: where `source` is)."""
    data, places = parse_yaml(text, source)
    if not isinstance(data, dict):
        problem = "the file is empty" if data is None else "the file is not a mapping"
        found = None if data is None else show(data)
        raise ScenarioError(problem, file=source, found=found, allowed=f"keys: {', '.join(key_names(ScenarioKeys))}")
    for override in overrides:
        apply_override(data, places, override)
    for key, value in (("seed", seed), ("world", world)):
        if value is not None:
            data[key], places[key,] = value, Place(f"--{key}")
    problems = Problems(source, places)
    scenario = _Build(problems, data, folder or Path(source).parent).scenario(source)
    problems.raise_if_any()
    assert scenario is not None
    return scenario


class _Build:
    """Sections first, each for itself; then what must hold between those that are good."""

    def __init__(self, problems: Problems, data: dict[str, Any], folder: Path) -> None:
        self.problems, self.data, self.folder = problems, data, folder

    def scenario(self, source: str) -> Scenario | None:
        top = validate_section(self.problems, (), self.data, ScenarioKeys, "the file")
        topology = (
            load_topology(self.problems, self.data["topology"]) if self.data.get("topology") is not None else None
        )
        switch, transport = self._switch(), self._transport()
        job = load_job(self.problems, self.data.get("job"), self.folder)
        job = job and with_server(self.problems, topology[0] if topology else None, job)
        jobs = load_jobs(self.problems, self.data.get("jobs"), job, topology[0] if topology else None, self.folder)
        if job and transport:
            job = with_size(job, transport)
            jobs = jobs and tuple(with_size(each, transport) for each in jobs)
        entries: list[tuple[KeyPath, Job]] = [(("jobs", index), each) for index, each in enumerate(jobs or ())]
        clocks = self._clocks()
        controlled = (
            switch is not None and switch.commodity == "openflow" and top is not None and top.world == "emulated"
        )
        more_nodes = (CONTROLLER,) if controlled else ()
        faults = load_faults(self.problems, self.data.get("faults"), topology[0] if topology else None, more_nodes)
        nics = load_nics(self.problems, self.data.get("nics"), topology[0] if topology else None)
        hosts = len(topology[0].hosts) - bool(job and job.server) if topology else None
        if job and job.hosts:
            hosts = len(job.hosts)
            if topology:
                check_job_hosts(self.problems, topology[0], job)
        routing = load_routing(self.problems, self.data.get("routing"), topology[0] if topology else None, job)
        background = load_background(self.problems, self.data.get("background"), top.world if top else None, topology)
        if topology and transport and job:
            check_mtu(self.problems, *topology, job, transport)
        if job and transport:
            check_aimd(self.problems, transport, job)
            check_path_mtu(self.problems, job, transport)
        if job:
            given = set(self.data.get("job") or ())
            check_layered(self.problems, job, given)
            check_layers(self.problems, entries or [(("job",), job)])
            held = {path: set(self.data["jobs"][path[1]]) for path, _ in entries}
            check_server_keys(self.problems, job, {("job",): given, **held}, entries)
            check_job(self.problems, hosts, job, given)
            for path, each in entries:
                check_job(self.problems, len(each.hosts), each, set(self.data["jobs"][path[1]]), path)
            if top and top.time_limit:
                check_arrivals(self.problems, entries or [(("job",), job)], top.time_limit)
        if topology and job:
            check_rack(self.problems, topology[0], job, top.world if top else None)
        if job:
            sections: dict[str, object] = {
                "problems": self.problems, "topology": topology and topology[0], "link": topology and topology[1], "switch": switch,
                "transport": transport, "job": job, "entries": entries, "routing": routing,
                "nics": nics,
            }  # fmt: skip
            for check in protocol_of(job.collective).checks:
                call_check(check, sections)
        if switch and job:
            check_program(self.problems, switch, job)
            check_knobs(self.problems, switch, job)
        if switch and topology:
            check_commodity(self.problems, switch, topology[0])
            check_card(self.problems, topology[0], switch, bool(top and top.trace))
        if job and transport:
            check_copies(self.problems, job)
            check_no_framing(self.problems, transport, job)
        if switch and transport and job:
            check_switch_memory(self.problems, hosts, switch, transport, job)
        ranks = hosts // job.copies if hosts is not None and job else hosts
        if entries:
            ranks = max(len(each.hosts) for _, each in entries)
        self._check_faults(faults, ranks, job, transport, top.time_limit if top else None)
        if topology:
            check_conflicts(self.problems, faults, topology[0])
        if topology and job:
            busy = busy_hosts(topology[0], [each for _, each in entries] or [job], background)
            check_effects(self.problems, faults, topology[0], busy)
        if top:
            check_nics(self.problems, top.world, nics, [fault for _, _, fault in faults])
        if job and nics:
            check_no_devices(self.problems, job, nics)
        if top and clocks:
            check_clocks(self.problems, top.world, clocks)
        if top is not None and top.time_limit == 0:
            self.problems.add(("time_limit",), "out of range", found="0", allowed="more than 0, at most 60min")
        if top is None or topology is None or switch is None or transport is None or job is None:
            return None
        if clocks is None or jobs is None:
            return None
        return Scenario(
            name=top.name,
            topology=topology[0],
            link=topology[1],
            description=top.description.strip(),
            seed=top.seed,
            world=top.world,
            transport=transport,
            switch=switch,
            job=job,
            jobs=jobs,
            routing=routing,
            clocks=clocks,
            nics=nics,
            faults=tuple(fault for _, _, fault in faults),
            background=background,
            time_limit_ns=top.time_limit,
            capture=top.capture,
            trace=top.trace,
            dilation=top.dilation,
            expect=top.expect,
            source=source,
        )

    def _switch(self) -> SwitchOptions | None:
        value = self.data.get("switch")
        if value is None:
            return SwitchOptions()
        keys = validate_section(self.problems, ("switch",), value, SwitchKeys, "switch")
        if keys is None:
            return None
        given = value.get("knobs") if isinstance(value, dict) else None
        knobs = validate_section(self.problems, ("switch", "knobs"), {} if given is None else given, KnobKeys, "knobs")
        if knobs is None:
            return None
        return SwitchOptions(
            keys.program, keys.release, keys.gate, keys.commodity, keys.memory, AggregatorKnobs(**knobs.model_dump())
        )

    def _transport(self) -> Transport | None:
        value = self.data.get("transport")
        if value is None:
            return Transport()
        keys = validate_section(self.problems, ("transport",), value, TransportKeys, "transport")
        given = value.get("dcqcn") if isinstance(value, dict) else None
        dcqcn = load_dcqcn(self.problems, ("transport", "dcqcn"), given)
        if keys is None or dcqcn is None:
            return None
        return Transport(
            path_mtu=keys.path_mtu,
            verb=keys.verb,
            timeout_code=keys.timeout,
            retry_count=keys.retry_count,
            rnr_retry=keys.rnr_retry,
            rnr_timer_code=keys.rnr_timer,
            ack_every=keys.ack_every,
            start_psn=keys.start_psn,
            receive_late_ns=keys.receive_late,
            rto_ns=keys.rto,
            framing=keys.framing,
            uc_packets=keys.uc_packets,
            aimd=keys.aimd,
            congestion_control=keys.congestion_control,
            dcqcn=dcqcn,
        )

    def _clocks(self) -> Clocks | None:
        value = self.data.get("clocks")
        if value is None:
            return TRUE_CLOCKS
        keys = validate_section(self.problems, ("clocks",), value, ClockKeys, "clocks")
        return None if keys is None else Clocks(keys.offset, keys.drift)

    def _check_faults(
        self, faults: list[Placed], ranks: int | None, job: Job | None, transport: Transport | None, limit: int | None
    ) -> None:
        for placed in faults:
            path, _, fault = placed
            if limit:
                check_window(self.problems, path, fault, limit)
            if job is None:
                continue
            protocol = protocol_of(job.collective)
            if not protocol.traits.reliable and protocol.check_fault is None:
                check_datagram_fault(self.problems, placed, job.collective)
            elif transport and protocol.check_fault is not None:
                protocol.check_fault(self.problems, placed, job, transport, ranks)
            elif transport and isinstance(fault, PacketFault):
                sizes = geometry_of(job, transport)
                check_match(self.problems, (*path, "match"), fault.match, ranks, job, transport, sizes)

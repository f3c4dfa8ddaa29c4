"""YAML -> Scenario. Every problem of a file is told at once, with file, line, key, what was found, what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from testbed.faults.model import PacketFault
from testbed.reading.keytypes import At
from testbed.reading.problems import KeyPath, Place, Problems, show
from testbed.reading.sections import as_far_as_known, read_section
from testbed.reading.validate import key_names, validate_section
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario.background import BackgroundFlow, check_background, check_payloads, load_background
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
from testbed.scenario.clocks import Clocks
from testbed.scenario.fault_checks import check_conflicts, check_match, check_window
from testbed.scenario.fault_effects import busy_hosts, check_effects
from testbed.scenario.fault_loader import Placed, load_faults
from testbed.scenario.geometry import geometry_of
from testbed.scenario.job_loader import load_job, load_jobs, with_size
from testbed.scenario.known import protocol_of
from testbed.scenario.model import CONTROLLER, Job, Routing, Scenario, SwitchOptions, Transport
from testbed.scenario.nics import check_nics, load_nics
from testbed.scenario.overrides import apply_override
from testbed.scenario.routing import check_routing
from testbed.scenario.schema import ScenarioKeys
from testbed.scenario.sections import call_check
from testbed.scenario.topology_kinds import Network, load_topology
from workloads.errors import ScenarioError

__all__ = ["load_scenario", "parse_scenario"]

_S = TypeVar("_S")


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
    """Sections first, each for itself; then what must hold between them, as far as it is known."""

    def __init__(self, problems: Problems, data: dict[str, Any], folder: Path) -> None:
        self.problems, self.data, self.folder = problems, data, folder
        self.at = At(problems)

    def scenario(self, source: str) -> Scenario | None:
        top = validate_section(self.problems, (), self.data, ScenarioKeys, "the file")
        given = self.data.get("topology")
        network = None if given is None else load_topology(self.at / "topology", given)
        topology = None if network is None else network.topology
        whole = network if network and network.shapes_known else None
        switch = self._section("switch", SwitchOptions)
        transport = self._section("transport", Transport)
        clocks = self._section("clocks", Clocks)
        job = load_job(self.problems, self.data.get("job"), self.folder)
        job = job and with_server(self.problems, topology, job)
        jobs = load_jobs(self.problems, self.data.get("jobs"), job, topology, self.folder)
        if job and transport:
            with as_far_as_known():
                job = with_size(job, transport)
                jobs = jobs and tuple(with_size(each, transport) for each in jobs)
        entries: list[tuple[KeyPath, Job]] = [(("jobs", index), each) for index, each in enumerate(jobs or ())]
        faults = load_faults(self.at / "faults", self.data.get("faults"), topology, self._more_nodes(switch, top))
        nics = load_nics(self.problems, self.data.get("nics"), topology)
        routing = None if self.data.get("routing") is None else self._section("routing", Routing)
        background = load_background(self.at / "background", self.data.get("background"))
        self._check(top, network, whole, switch, transport, clocks, job, entries, faults, nics, routing, background)
        if self.problems or top is None or network is None or job is None or jobs is None:
            return None
        assert switch is not None
        assert transport is not None
        assert clocks is not None
        return Scenario(
            name=top.name,
            topology=network.topology,
            link=network.link,
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

    def _section(self, key: str, section: type[_S]) -> _S | None:
        value = self.data.get(key)
        return section() if value is None else read_section(self.at / key, value, section, key)

    def _more_nodes(self, switch: SwitchOptions | None, top: ScenarioKeys | None) -> tuple[str, ...]:
        with as_far_as_known():
            if switch is not None and switch.commodity == "openflow" and top is not None and top.world == "emulated":
                return (CONTROLLER,)
        return ()

    def _check(
        self,
        top: ScenarioKeys | None,
        network: Network | None,
        whole: Network | None,
        switch: SwitchOptions | None,
        transport: Transport | None,
        clocks: Clocks | None,
        job: Job | None,
        entries: list[tuple[KeyPath, Job]],
        faults: list[Placed],
        nics: Sequence[tuple[str, str]],
        routing: Routing | None,
        background: Sequence[BackgroundFlow],
    ) -> None:
        """`whole`: the network where the shapes of all links are known."""
        problems, topology = self.problems, None if network is None else network.topology
        shapes = None if whole is None else (whole.topology, whole.link)
        world, limit = (top.world, top.time_limit) if top else (None, None)
        hosts = len(topology.hosts) - bool(job and job.server) if topology else None
        if job and job.hosts:
            hosts = len(job.hosts)
            self._run(check_job_hosts, topology, job)
        if routing is not None and topology is not None:
            check_routing(self.at / "routing", routing, topology, job)
        check_background(self.at / "background", background, world, topology)
        if shapes:
            self._run(check_mtu, *shapes, job, transport)
            check_payloads(self.at / "background", background, shapes[0])
        self._run(check_aimd, transport, job)
        self._run(check_path_mtu, job, transport)
        if job:
            given = set(self.data.get("job") or ())
            self._run(check_layered, job, given)
            self._run(check_layers, entries or [(("job",), job)])
            held = {path: set(self.data["jobs"][path[1]]) for path, _ in entries}
            self._run(check_server_keys, job, {("job",): given, **held}, entries)
            with as_far_as_known():
                check_job(problems, hosts, job, given)
            for path, each in entries:
                with as_far_as_known():
                    check_job(problems, len(each.hosts), each, set(self.data["jobs"][path[1]]), path)
            if limit:
                self._run(check_arrivals, entries or [(("job",), job)], limit)
        if topology and job:
            with as_far_as_known():
                check_rack(problems, topology, job, world)
        if job:
            sections: dict[str, object] = {
                "problems": problems, "topology": topology, "link": whole and whole.link, "switch": switch,
                "transport": transport, "job": job, "entries": entries, "routing": routing, "nics": nics,
            }  # fmt: skip
            for check in protocol_of(job.collective).checks:
                with as_far_as_known():
                    call_check(check, sections)
        self._run(check_program, switch, job)
        self._run(check_knobs, switch, job)
        self._run(check_commodity, switch, topology)
        self._run(check_card, topology, switch, bool(top and top.trace))
        self._run(check_copies, job)
        self._run(check_no_framing, transport, job)
        if switch and transport and job:
            with as_far_as_known():
                check_switch_memory(problems, hosts, switch, transport, job)
        ranks = hosts // job.copies if hosts is not None and job else hosts
        if entries:
            ranks = max(len(each.hosts) for _, each in entries)
        for placed in faults:
            with as_far_as_known():
                self._check_fault(placed, ranks, job, transport, limit)
        if topology:
            check_conflicts(problems, faults, topology)
        if topology and job:
            busy = busy_hosts(topology, [each for _, each in entries] or [job], background)
            check_effects(problems, faults, topology, busy)
        if world is not None:
            check_nics(problems, world, nics, [fault for _, _, fault in faults])
            self._run(check_clocks, world, clocks)
        if job and nics:
            check_no_devices(problems, job, nics)
        if limit == 0:
            problems.add(("time_limit",), "out of range", found="0", allowed="more than 0, at most 60min")

    def _run(self, check: Callable[..., None], *needed: Any) -> None:
        """Where all is there that the check needs."""
        if all(item is not None for item in needed):
            with as_far_as_known():
                check(self.problems, *needed)

    def _check_fault(
        self, placed: Placed, ranks: int | None, job: Job | None, transport: Transport | None, limit: int | None
    ) -> None:
        path, _, fault = placed
        if limit:
            check_window(self.problems, path, fault, limit)
        if job is None:
            return
        protocol = protocol_of(job.collective)
        if not protocol.traits.reliable and protocol.check_fault is None:
            check_datagram_fault(self.problems, placed, job.collective)
        elif transport and protocol.check_fault is not None:
            protocol.check_fault(self.problems, placed, job, transport, ranks)
        elif transport and isinstance(fault, PacketFault):
            sizes = geometry_of(job, transport)
            check_match(self.problems, (*path, "match"), fault.match, ranks, job, transport, sizes)

"""YAML -> Scenario. The loader reports every problem of a file at once: file, line, key, what was found, what is
allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.reading.keytypes import At
from testbed.reading.problems import Place, Problems, show
from testbed.reading.sections import as_far_as_known, names_of, read_keys
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario.builtin import find_scenario
from testbed.scenario.checks.between import Sections, check_between
from testbed.scenario.checks.server import with_server
from testbed.scenario.keys.beside import PLAIN, Beside, inside_of
from testbed.scenario.keys.fault_loader import place_faults
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.job_loader import load_jobs, with_size
from testbed.scenario.keys.nics import on_hosts
from testbed.scenario.keys.recoveries import with_recoveries
from testbed.scenario.keys.topology_kinds import network_of
from testbed.scenario.keys.transport import Transport
from testbed.scenario.model import CONTROLLER, Scenario
from testbed.scenario.overrides import apply_override
from testbed.scenario.protocols.known import protocol_of
from topologies import Topology
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
    """As `load_scenario`, from text; `source` is the file name that messages show, `folder` where other files are named
    from (None: where `source` is)."""
    data, places = parse_yaml(text, source)
    if not isinstance(data, dict):
        problem = "the file is empty" if data is None else "the file is not a mapping"
        found = None if data is None else show(data)
        raise ScenarioError(problem, file=source, found=found, allowed=f"keys: {', '.join(names_of(Scenario))}")
    for override in overrides:
        apply_override(data, places, override)
    for key, value in (("seed", seed), ("world", world)):
        if value is not None:
            data[key], places[key,] = value, Place(f"--{key}")
    problems = Problems(source, places, folder or Path(source).parent)
    at = At(problems)
    keys = read_keys(at, data, Scenario, "the file")
    assert keys is not None
    sections = _resolved(at, data, keys)
    check_between(at, data, sections)
    problems.raise_if_any()
    return Scenario(**{**keys, **sections.values(), "source": source})


def _resolved(at: At, data: dict[str, Any], found: dict[str, Any]) -> Sections:
    """The sections with what follows from the others: links and nodes, hosts, sizes."""
    network = network_of(at / "topology", found["topology"]) if "topology" in found else None
    topology = None if network is None else network.topology
    transport, switch = found.get("transport"), found.get("switch")
    job, jobs = _jobs(at, found.get("job"), found.get("jobs"), transport, topology)
    given = data.get("switch")
    if switch is not None and job is not None and "program" not in (given if isinstance(given, dict) else ()):
        with as_far_as_known():
            switch = replace(switch, program=protocol_of(job.protocol).program(job.own))
    recoveries = dict(found.get("recoveries", ()))
    if recoveries and transport is not None and job is not None:
        with as_far_as_known():
            transport = with_recoveries(at / "recoveries", recoveries, transport, job, topology)
    more_nodes: tuple[str, ...] = ()
    with as_far_as_known():
        if switch is not None and switch.commodity == "openflow" and found.get("world") == "emulated":
            more_nodes = (CONTROLLER,)
    nics = data.get("nics")
    own = Sections(
        world=found.get("world"),
        time_limit_ns=found.get("time_limit_ns"),
        trace=found.get("trace", False),
        network=network,
        switch=switch,
        transport=transport,
        clocks=found.get("clocks"),
        pfc=found.get("pfc"),
        job=job,
        jobs=jobs,
        routing=found.get("routing"),
        nics=on_hosts(at / "nics", nics if isinstance(nics, dict) else (), found.get("nics", ()), topology),
        faults=place_faults(at / "faults", found.get("faults", ()), topology, more_nodes),
        background=found.get("background", ()),
    )
    entries = (
        _of_party(At(inside_of(at.problems, ("beside", index))), entry, own)
        for index, entry in enumerate(found.get("beside", ()))
    )
    return replace(own, beside=tuple(entries))


def _jobs(
    at: At, job: Job | None, given: Sequence[Any] | None, transport: Transport | None, topology: Topology | None
) -> tuple[Job | None, Sequence[Job | None]]:
    """`job` and the `jobs` that are given, with servers, hosts and sizes."""
    if job is not None:
        with as_far_as_known():
            job = with_server(at.problems, topology, job)
    jobs = load_jobs(at / "jobs", given, job, topology) if given and job is not None else ()
    if transport is not None:
        with as_far_as_known():
            job = job and with_size(job, transport, topology)
        with as_far_as_known():
            jobs = tuple(each and with_size(each, transport, topology) for each in jobs)
    return job, jobs


def _of_party(at: At, entry: Beside | None, own: Sections) -> Sections:
    """The sections of one entry for another protocol. The checks of faults cover the whole file, not an entry."""
    transport: Transport | None = getattr(entry, "transport", None)
    job, jobs = _jobs(at, getattr(entry, "job", None), getattr(entry, "jobs", None), transport, own.topology)
    return replace(
        own,
        switch=PLAIN,
        transport=transport,
        job=job,
        jobs=jobs,
        routing=None,
        pfc=None,
        nics=(),
        faults=[],
        background=(),
    )

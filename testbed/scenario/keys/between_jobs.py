"""What must hold between several jobs on one network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.units import format_duration
from testbed.scenario.keys.job import Job
from testbed.scenario.protocols.known import names_where, protocol_of
from testbed.scenario.protocols.names import MOST_JOBS
from testbed.scenario.protocols.protocol import KeyGroup
from topologies import MAX_HOSTS, MAX_PORTS, Topology
from workloads.models import MOST_LAYERS, model_names

__all__ = ["check_arrivals", "check_entries", "check_layers", "check_real_nodes", "check_stages"]


def check_real_nodes(problems: Problems, topology: Topology, world: str | None) -> None:
    """More nodes than run as processes of one machine."""
    if world != "emulated":
        return
    ports = max((len(list(topology.ports(switch.name))) for switch in topology.switches), default=0)
    for what, found in (
        ("hosts", len(topology.hosts)),
        ("switches", len(topology.switches)),
        ("ports of one switch", ports),
    ):
        if found > MAX_PORTS:
            here: KeyPath = ("topology", "hosts")
            problems.add(
                here if here in problems.places else ("topology",),
                f"too many {what} for the emulated world",
                found=str(found),
                allowed=f"at most {MAX_PORTS}; or world: simulated",
            )
            return


def check_layers(problems: Problems, jobs: Iterable[tuple[KeyPath, Job]]) -> None:
    """A resolved scenario holds the layers of models that are not built in, and must be a scenario file itself."""
    layers = 0
    for path, job in jobs:
        if job.model is None or job.model.name in model_names():
            continue
        layers += len(job.model.layers)
        if layers > MOST_LAYERS:
            key = "model" if (*path, "model") in problems.places else "layers"
            problems.add(
                (*path, key), "too many layers to write out", found=f"{layers} in the jobs so far",
                allowed=f"at most {MOST_LAYERS} in all, built-in models not counted",
            )  # fmt: skip
            return


def check_stages(problems: Problems, jobs: Iterable[tuple[KeyPath, Job]]) -> None:
    """What a packet says of floats that travel in another one would hold the end of a stage back."""
    for path, job in jobs:
        in_blocks = protocol_of(job.protocol).wire_dtype("float32") != "float32"
        if in_blocks and job.stages is not None and job.dtype == "float32" and job.fixed_scale is None:
            problems.add(
                (*path, "dtype"), "the exponents of a stage's last blocks would travel with the stage behind it",
                found="'float32'", allowed="int32, int32sat where the protocol has it; or quantisation: fixed:NUMBER",
            )  # fmt: skip


def check_arrivals(problems: Problems, jobs: Iterable[tuple[KeyPath, Job]], time_limit_ns: int) -> None:
    for path, job in jobs:
        if job.arrival_ns >= time_limit_ns:
            problems.add(
                (*path, "arrival"),
                "the run is over before",
                found=format_duration(job.arrival_ns),
                allowed=f"before time_limit ({format_duration(time_limit_ns)})",
            )


def check_entries(problems: Problems, jobs: Sequence[Job], base: Job | None, topology: Topology | None) -> None:
    """Of `jobs`: ids and names are unique, every host has one role, every server is there."""
    if len(jobs) > MOST_JOBS:
        found, allowed = f"{len(jobs)} jobs", f"at most {MOST_JOBS}, whose ids are 1 to {MOST_JOBS}"
        problems.add(("jobs",), "more jobs than ids", found=found, allowed=allowed)
        return
    if base is not None:
        _check_base(problems, base)
    names: dict[str, int] = {}
    numbers: dict[int | None, int] = {}
    workers: dict[str, str] = {}
    for index, job in enumerate(jobs):
        if job.name in names:
            found = f"'{job.name}', as jobs[{names[job.name]}]"
            problems.add(("jobs", index, "name"), "two jobs with one name", found=found, allowed="a name of its own")
        if job.number in numbers:
            found = f"{job.number}, as jobs[{numbers[job.number]}]"
            allowed = "an id of its own; without one, the place in the list, from 1"
            problems.add(("jobs", index, "id"), "two jobs with one id", found=found, allowed=allowed)
        names.setdefault(job.name, index)
        numbers.setdefault(job.number, index)
        for host in job.hosts:
            if host in workers:
                found = f"{host}, which is in {workers[host]}"
                problems.add(
                    ("jobs", index, "hosts"), "a host in two jobs", found=found, allowed="each host in one job"
                )
            workers.setdefault(host, job.name)
    if topology is not None:
        _check_nodes(problems, jobs, workers, topology)


def _check_base(problems: Problems, base: Job) -> None:
    if KeyGroup.JOBS not in protocol_of(base.protocol).optional_keys():
        able = ", ".join(names_where(lambda each: KeyGroup.JOBS in each.optional_keys()))
        problems.add(
            ("jobs",),
            f"protocol {base.protocol} runs one job",
            allowed=f"job.protocol: {able}; or `job` alone",
        )
    if base.copies > 1:
        problems.add(
            ("job", "copies"),
            "cannot be combined with jobs",
            found=str(base.copies),
            allowed="omit it, or list every job in `jobs`",
        )
    if base.hosts:
        problems.add(
            ("job", "hosts"),
            "cannot be combined with jobs",
            found=show(list(base.hosts)),
            allowed="hosts of each of the jobs",
        )


def _check_nodes(problems: Problems, jobs: Sequence[Job], workers: dict[str, str], topology: Topology) -> None:
    known = [host.name for host in topology.hosts]
    some = ", ".join(known) if len(known) <= MAX_HOSTS else f"{known[0]} to {known[-1]}"
    for index, job in enumerate(jobs):
        for host in job.hosts:
            if host not in known:
                problems.add(
                    ("jobs", index, "hosts"), "no such host", found=show(host), allowed=f"some of {some}",
                    hint=closest(host, known),
                )  # fmt: skip
        if not job.server or not protocol_of(job.protocol).servers():
            continue
        path = ("jobs", index, "server")
        if job.server not in known:
            problems.add(
                path, "the parameter server is not on the topology", found=show(job.server), allowed=some,
                hint=closest(job.server, known),
            )  # fmt: skip
        elif job.server in workers:
            found = f"{job.server}, which works in {workers[job.server]}"
            problems.add(path, "the parameter server is a worker", found=found, allowed="a host of its own")

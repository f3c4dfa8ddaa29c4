"""`job` and `jobs`: what their keys make together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass, replace
from typing import Annotated, Any

from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import show
from testbed.reading.sections import (
    Key,
    NotKnown,
    Section,
    as_far_as_known,
    changed,
    keys_of,
    make,
    names_of,
    read_keys,
    read_section,
    write_section,
)
from testbed.scenario import names
from testbed.scenario.checks_jobs import check_entries
from testbed.scenario.checks_own import check_collective
from testbed.scenario.job import Job, JobEntry, SizedKeys
from testbed.scenario.known import protocol_of, protocols
from testbed.scenario.named import protocol_names
from testbed.scenario.own_code import is_in_file
from testbed.scenario.stages import block_elements, stage_elements
from testbed.scenario.transport import Transport
from topologies import Topology
from workloads.models import scaled_layers

__all__ = ["JobType", "JobsType", "load_jobs", "with_size"]

_ELEMENT_BYTES = 4
_GRADIENTS = ("size", "model", "layers", "stages")
"""keys that say how large a gradient is; a job has one of them"""


@dataclass(frozen=True, slots=True)
class JobType(KeyType):
    """The one job, or what several have in common."""

    def read(self, value: Any, at: At) -> Job:
        value = _with_file(value)
        collective = value.get("collective") if isinstance(value, Mapping) else None
        good = not isinstance(collective, str) or check_collective(at.problems, collective)
        more = _more_keys(collective) if good else None
        others = set() if more is None else set(names_of(more))
        data = {key: item for key, item in value.items() if key not in others} if more is not None else value
        found = read_keys(at, data, Job, "job")
        if found is None:
            raise Told
        if not good:
            found.pop("collective", None)
        if more is not None:
            found["own"] = read_section(at, {key: item for key, item in value.items() if key in others}, more, "job")
        return _finished(at, value, found)

    def write(self, value: Job) -> dict[str, Any]:
        return write_section(value) | (write_section(value.own) if value.own is not None else {})

    def schema(self, refer: Refer) -> dict[str, Any]:
        """The schema of a job's keys, with the keys that its collective adds."""
        found = refer(Job)
        for protocol in protocols():
            if protocol.job_keys is not None:
                named = {"properties": {"collective": {"const": protocol.name}}, "required": ["collective"]}
                found = {"if": named, "then": refer(_with_keys(protocol.name, protocol.job_keys)), "else": found}
        return found

    def sections(self) -> tuple[type, ...]:
        return (Job,)


def _with_file(value: Any) -> Any:
    """A job whose workload is a file runs on the collective that reads such files; the one that it names then sums."""
    workload = value.get("workload") if isinstance(value, Mapping) else None
    if not isinstance(workload, str) or workload in names.WORKLOADS:
        return value
    reader = next((each.name for each in protocols() if each.reads_workload(workload)), None)
    given = value.get("collective", reader)
    if reader is None or given == reader:
        return value if reader is None else {**value, "collective": reader}
    return {**value, "collective": reader, "all_reduce": given}


def _with_keys(collective: str, more: type[Section]) -> type[Section]:
    """The keys of a job of that collective."""
    parts = [("job", Annotated[Job, Key(flat=True)]), ("own", Annotated[more, Key(flat=True)])]
    return make_dataclass(f"JobOf{collective.title()}", parts, bases=(Section,), frozen=True)


def _more_keys(collective: object) -> type[Section] | None:
    """The keys that a collective adds. Another check reports a collective that does not exist."""
    known = isinstance(collective, str) and (is_in_file(collective) or collective in protocol_names())
    return protocol_of(str(collective)).job_keys if known else None


@dataclass(frozen=True, slots=True)
class JobsType(KeyType):
    """A list of jobs, which `load_jobs` reads where it is known what they have in common."""

    def read(self, value: Any, at: At) -> list[Any]:
        if not isinstance(value, list) or not value:
            found = "an empty list" if value == [] else show(value)
            at.add("not a list of jobs", found=found, allowed="one job per `- name: ...`")
            raise Told
        return value

    def write(self, value: Sequence[Job]) -> Any:
        entries = [write_section(job, JobEntry, set(job.left_out()) - {"arrival_ns"}) for job in value]
        return entries or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "array", "items": refer(JobEntry), "minItems": 1}

    def sections(self) -> tuple[type, ...]:
        return (JobEntry,)


def load_jobs(at: At, entries: Sequence[Any], base: Job, topology: Topology | None) -> tuple[Job | None, ...]:
    """The entries of `jobs` in their order, with hosts as far as they are known. `base`: what an entry does not say.
    None: the entry is no mapping."""
    before = len(at.problems)
    jobs = [_load_entry(at / index, entry, base, index) for index, entry in enumerate(entries)]
    if any(job is None for job in jobs):
        return _unplaced(jobs)
    known = [job for job in jobs if job is not None]
    with as_far_as_known():
        check_entries(at.problems, known, base, topology)
    if len(at.problems) > before or topology is None:
        return _unplaced(jobs)
    with as_far_as_known():
        return _with_hosts(at, known, [entry.get("workers") for entry in entries], topology)
    return _unplaced(jobs)


def _unplaced(jobs: Sequence[Job | None]) -> tuple[Job | None, ...]:
    """Where a job runs is not known unless it says so."""
    placed: list[Job | None] = list(jobs)
    for index, job in enumerate(jobs):
        with as_far_as_known():
            if job is not None and not job.hosts:
                placed[index] = changed(job, forget=("hosts",))
    return tuple(placed)


def _load_entry(at: At, entry: Any, base: Job, index: int) -> Job | None:
    defaults: dict[str, Any] = {"name": f"job{index + 1}", "id": index + 1, "seed_offset": index, "workers": None}
    unknown: list[str] = []
    for key in keys_of(JobEntry):
        if key.name not in defaults:
            try:
                defaults[key.name] = getattr(base, key.field)
            except NotKnown:
                unknown.append(key.field)
    found = read_keys(at, entry, JobEntry, "the job", defaults)
    if found is None:
        return None
    given = {key.field for key in keys_of(JobEntry) if key.name in entry}
    found = {name: value for name, value in found.items() if name not in unknown or name in given}
    workers = found.pop("workers", None)
    if workers is not None and "hosts" in entry:
        (at / "workers").add("cannot be combined with hosts", found=str(workers), allowed="one of hosts, workers")
    for item in fields(Job):
        with as_far_as_known():
            if item.name not in {key.field for key in keys_of(JobEntry)}:
                found[item.name] = getattr(base, item.name)
    return _finished(at, entry, {**found, "copies": 1})


def _finished(at: At, data: Mapping[str, Any], found: dict[str, Any]) -> Job:
    """The job of these fields; `data`: the keys that the file holds."""
    several = [key for key in _GRADIENTS if key in data]
    if len(several) > 1:
        allowed = f"one of {', '.join(_GRADIENTS)}: how large a gradient is"
        (at / several[1]).add(f"cannot be combined with {several[0]}", allowed=allowed)
        found.pop("size_bytes", None)
        found.pop("model", None)
        found.pop("stages", None)
    elif "stages" in data:
        found |= {"model": None, "scale": Job().scale}
        if "scale" in data:
            (at / "scale").add("cannot be combined with stages", allowed="with model or layers; stages have divide")
        if "compute" not in data:
            found["compute"] = None
    elif several:
        found["stages"] = None
    if several == ["size"]:
        plain = Job()
        if "scale" in data and found.get("scale") != plain.scale:
            (at / "scale").add("cannot be combined with size", allowed="with model or layers; a size is not divided")
        found |= {"model": plain.model, "scale": plain.scale}
    if "batch" in data and found.get("workload") == "digits":
        (at / "batch").add("cannot be combined with workload: digits", allowed="omit the key: digits has its own")
    if found.get("stages") is not None and found.get("compute") is not None:
        (at / "compute").add("cannot be combined with stages", allowed="omit the key: a chain has its own times")
    job = make(Job, found)
    assert job is not None
    with as_far_as_known():
        _check_times(at, job)
    return job


def _check_times(at: At, job: Job) -> None:
    """Check that a job with varying compute times has compute times."""
    compute, model = job.compute, job.model
    measured = model is not None and model.forward_ns + model.backward_ns > 0
    timed = compute is not None and (compute.ratio is not None or compute.forward_ns is not None)
    if timed or measured or job.stages is not None:
        return
    if compute is not None:
        (at / "compute").add("no times, and nothing measured that could vary", allowed="ratio, or forward and backward")
    elif job.straggle_factor != 1.0:
        (at / "straggler" / "slowdown").add(
            "no worker computes anything that could take longer", found=f"{job.straggle_factor:g}",
            allowed="with compute, or with layers of measured times",
        )  # fmt: skip


def _with_hosts(
    at: At, jobs: Sequence[Job], wanted: Sequence[int | None], topology: Topology
) -> tuple[Job | None, ...]:
    """Give each job that names only a number of workers the first hosts that no job names."""
    named = {name for job in jobs for name in (*job.hosts, job.server)}
    free = [host.name for host in topology.hosts if host.name not in named]
    placed: list[Job] = []
    for index, (job, workers) in enumerate(zip(jobs, wanted, strict=True)):
        if job.hosts:
            placed.append(job)
            continue
        if workers is None:
            (at / index).add("nothing says where it runs", allowed="hosts: [h1, h2], or workers: 2")
            return _unplaced(jobs)
        if workers > len(free):
            (at / index / "workers").add(
                "not so many hosts are left", found=str(workers),
                allowed=f"at most {len(free)} of the {len(topology.hosts)} hosts, or more topology.hosts",
            )  # fmt: skip
            return _unplaced(jobs)
        placed.append(replace(job, hosts=tuple(free[:workers])))
        free = free[workers:]
    return tuple(placed)


def with_size(job: Job, transport: Transport, topology: Topology | None) -> Job:
    """The size of a gradient that follows from a model, or from keys of the collective."""
    if isinstance(job.own, SizedKeys):
        ranks = len(job.hosts) or len(topology.hosts if topology is not None else ())
        return changed(job, size_bytes=job.own.gradient_bytes(ranks)) if ranks > 1 else job
    if job.stages is not None:
        ranks = len(job.hosts) or len(topology.hosts if topology is not None else ()) - bool(job.server)
        if ranks < 2:
            return job
        whole = stage_elements(job.stages.stages(ranks), ranks, block_elements(transport))
        return changed(job, size_bytes=_ELEMENT_BYTES * sum(whole))
    if job.model is None:
        return job
    elements = sum(scaled_layers(job.model, job.scale, transport.path_mtu // _ELEMENT_BYTES))
    return changed(job, size_bytes=_ELEMENT_BYTES * elements)

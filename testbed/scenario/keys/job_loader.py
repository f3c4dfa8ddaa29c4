"""`job` and `jobs`: what their keys make together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass, replace
from typing import Annotated, Any, TypeGuard

from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import show
from testbed.reading.sections import (
    Key,
    NotKnown,
    Section,
    as_far_as_known,
    by_new_names,
    changed,
    keys_of,
    make,
    names_of,
    read_keys,
    read_section,
    write_section,
)
from testbed.scenario.keys.between_jobs import check_entries
from testbed.scenario.keys.job import Job, JobEntry
from testbed.scenario.keys.stages import block_elements, stage_elements
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols import names
from testbed.scenario.protocols.known import names_where, protocol_of, protocols
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.own_code import is_in_file
from testbed.scenario.protocols.own_named import check_protocol
from testbed.scenario.protocols.protocol import KnownProtocol
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
        chosen = by_new_names(value, Job).get("protocol") if isinstance(value, Mapping) else None
        good = not isinstance(chosen, str) or check_protocol(at.problems, chosen)
        if _reader_of(value) is not None:
            if not good:
                raise Told
            value = _with_file(at, value)
            chosen = value["protocol"]
        more = {"own": _more_keys(chosen) if good else None, "file": _file_keys(value) if good else None}
        others = {name: set(names_of(keys)) for name, keys in more.items() if keys is not None}
        taken = set().union(*others.values())
        data = {key: item for key, item in value.items() if key not in taken} if others else value
        found = read_keys(at, data, Job, "job")
        if found is None:
            raise Told
        if not good:
            found.pop("protocol", None)
        for name, known in others.items():
            keys: Any = more[name]
            found[name] = read_section(at, {key: item for key, item in value.items() if key in known}, keys, "job")
        return _finished(at, value, found)

    def write(self, value: Job) -> dict[str, Any]:
        found = write_section(value)
        for more in (value.own, value.file):
            found |= {} if more is None else write_section(more)
        return found

    def schema(self, refer: Refer) -> dict[str, Any]:
        """The schema of a job's keys, with the keys that its protocol adds."""
        found = refer(Job)
        for protocol in protocols():
            if protocol.job_keys is not None:
                named = {"properties": {"protocol": {"const": protocol.name}}, "required": ["protocol"]}
                found = {"if": named, "then": refer(_with_keys(protocol.name, protocol.job_keys)), "else": found}
        for reader in protocols():
            if reader.file_keys is not None:
                found = _with_file_schema(refer, reader.file_keys, found)
        return found

    def sections(self) -> tuple[type, ...]:
        return (Job,)


def _with_file(at: At, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A job whose workload is a file runs on the protocol that reads such files; the one that it names then sums. If
    that one runs files, the job stays its own. One that can do neither is a problem, and the end."""
    reader = _reader_of(value)
    assert reader is not None
    given = value.get("protocol", reader.name)
    if given == reader.name:
        return {**value, "protocol": reader.name}
    if _runs_files(given):
        return value
    if _is_known(given) and (is_in_file(given) or not protocol_of(given).repairs_losses()):
        able = f"{', '.join(names_where(lambda each: each.runs_files()))}, or a protocol over RoCE connections"
        (at / "protocol").add(
            f"{given} runs no workload that is a file", found=show(given),
            allowed=f"{able} that has a name; or runs_files true in its class" if is_in_file(given) else able,
        )  # fmt: skip
        raise Told
    return {**value, "protocol": reader.name, "all_reduce": given}


def _reader_of(value: Any) -> KnownProtocol | None:
    """The protocol that reads a job's workload, if that is a file."""
    workload = value.get("workload") if isinstance(value, Mapping) else None
    if not isinstance(workload, str) or workload in names.WORKLOADS:
        return None
    return next((each for each in protocols() if each.reads_workload(workload)), None)


def _is_known(name: object) -> TypeGuard[str]:
    """Another check reports a protocol that does not exist."""
    return isinstance(name, str) and (is_in_file(name) or name in protocol_names())


def _runs_files(name: object) -> bool:
    return _is_known(name) and protocol_of(name).runs_files()


def _file_keys(value: Any) -> type[Section] | None:
    """The keys of a workload that is a file, in a job whose protocol runs it."""
    reader = _reader_of(value)
    return reader.file_keys if reader is not None and _runs_files(value.get("protocol")) else None


def _with_file_schema(refer: Refer, file_keys: type[Section], others: dict[str, Any]) -> dict[str, Any]:
    """The schema of a job, with the keys of a workload that is a file where its protocol runs such."""
    found = others
    for protocol in protocols():
        if protocol.runs_files():
            of_file = {
                "properties": {
                    "protocol": {"const": protocol.name}, "workload": {"not": {"enum": list(names.WORKLOADS)}}
                },
                "required": ["protocol", "workload"],
            }  # fmt: skip
            own = () if protocol.job_keys is None else (protocol.job_keys,)
            found = {"if": of_file, "then": refer(_with_keys(f"{protocol.name}_file", *own, file_keys)), "else": found}
    return found


def _with_keys(name: str, *more: type[Section]) -> type[Section]:
    """The keys of a job of that protocol."""
    parts = [("job", Annotated[Job, Key(flat=True)])]
    parts += [(f"own{place or ''}", Annotated[keys, Key(flat=True)]) for place, keys in enumerate(more)]
    return make_dataclass(f"JobOf{name.title()}", parts, bases=(Section,), frozen=True)


def _more_keys(name: object) -> type[Section] | None:
    """The keys that a protocol adds."""
    return protocol_of(name).job_keys if _is_known(name) else None


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
    """The size of a gradient that follows from a model, or from keys of the protocol."""
    if job.sized is not None:
        ranks = len(job.hosts) or len(topology.hosts if topology is not None else ())
        return changed(job, size_bytes=job.sized.gradient_bytes(ranks)) if ranks > 1 else job
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

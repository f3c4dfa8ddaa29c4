"""`job` and `jobs`, between file and value."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from testbed.reading.fields import Section
from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.validate import validate_section
from testbed.reading.yamlfile import read_text
from testbed.scenario.checks_jobs import check_entries
from testbed.scenario.checks_own import check_collective
from testbed.scenario.known import protocol_of
from testbed.scenario.model import Compute, Job, Transport
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.own_code import is_own_code
from testbed.scenario.protocol import protocol_names
from testbed.scenario.schema import (
    ComputeKeys,
    JobEntryKeys,
    JobKeys,
    LayerKeys,
    SharedJobKeys,
    StragglerKeys,
)
from topologies import Topology
from workloads.errors import ScenarioError
from workloads.models import Layer, Model, create_model, model_names, parse_model, scaled_layers

__all__ = ["load_job", "load_jobs", "with_size"]

_ELEMENT_BYTES = 4
_PLAIN = {
    "workload": "workload", "size": "size_bytes", "scale": "scale", "dtype": "dtype", "iterations": "iterations",
    "window_packets": "window_packets", "hosts": "hosts", "arrival": "arrival_ns", "server": "server",
    "quantisation": "fixed_scale", "priority": "priority", "priority_x0": "priority_x0",
}  # fmt: skip
"""keys that one job and each of several have, and their fields"""
_OF_THE_ONE = (
    "collective",
    "op",
    "message_packets",
    "window_messages",
    "copies",
    "credit",
    "hello",
    "fallback",
    "pipelined",
)
_GRADIENTS = ("size", "model", "layers")
"""keys of which one says how large a gradient is"""


def load_job(problems: Problems, value: object, folder: Path) -> Job | None:
    """`job`, or None when it has problems. `folder`: where CSV files are looked for."""
    if value is None:
        return Job()
    path: KeyPath = ("job",)
    collective = value.get("collective", Job().collective) if isinstance(value, dict) else Job().collective
    if isinstance(collective, str) and is_own_code(collective) and not check_collective(problems, collective):
        return None
    more = _job_keys(collective)
    keys = validate_section(problems, path, value, _with_keys(more), "job")
    job = _shared(problems, path, value, Job(), keys, folder)
    if keys is None or job is None:
        return None
    own = tuple((key, getattr(keys, key)) for key in (more.model_fields if more else ()))
    return replace(job, own=own, **{key: getattr(keys, key) for key in _OF_THE_ONE})


def _job_keys(collective: object) -> type[Section] | None:
    """That a collective adds; what is no collective is said elsewhere."""
    known = isinstance(collective, str) and (is_own_code(collective) or collective in protocol_names())
    return protocol_of(str(collective)).job_keys if known else None


@cache
def _with_keys(more: type[Section] | None) -> type[JobKeys]:
    """`job` of a collective that adds keys."""
    return JobKeys if more is None else cast(type[JobKeys], type("JobKeysAndMore", (JobKeys, more), {}))


def load_jobs(
    problems: Problems, value: object, base: Job | None, topology: Topology | None, folder: Path
) -> tuple[Job, ...] | None:
    """`jobs`, with `base` for what an entry does not say, and with hosts; None when there are problems, in `base` too."""
    if value is None:
        return ()
    if not isinstance(value, list) or not value:
        found = "an empty list" if value == [] else show(value)
        problems.add(("jobs",), "not a list of jobs", found=found, allowed="one job per `- name: ...`")
        return None
    before, jobs, wanted = len(problems), list[Job](), list[int | None]()
    for index, entry in enumerate(value):
        path: KeyPath = ("jobs", index)
        keys = validate_section(problems, path, entry, JobEntryKeys, "the job")
        job = _shared(problems, path, entry, base or Job(), keys, folder)
        if keys is None or job is None:
            continue
        given = keys.model_fields_set
        name, number = keys.name or f"job{index + 1}", keys.id or index + 1
        offset = keys.seed_offset if "seed_offset" in given else index
        if {"workers", "hosts"} <= given:
            problems.add(
                (*path, "workers"), "stands beside hosts", found=str(keys.workers), allowed="one of hosts, workers"
            )
        jobs.append(replace(job, name=name, number=number, seed_offset=offset, copies=1))
        wanted.append(keys.workers)
    if len(problems) > before:
        return None
    check_entries(problems, jobs, base, topology)
    if len(problems) > before or base is None or topology is None:
        return None
    return _with_hosts(problems, jobs, wanted, topology)


def _with_hosts(
    problems: Problems, jobs: list[Job], wanted: list[int | None], topology: Topology
) -> tuple[Job, ...] | None:
    """Jobs that say how many workers they have get the first hosts that nobody names."""
    named = {name for job in jobs for name in (*job.hosts, job.server)}
    free = [host.name for host in topology.hosts if host.name not in named]
    placed = []
    for index, (job, workers) in enumerate(zip(jobs, wanted, strict=True)):
        if job.hosts:
            placed.append(job)
            continue
        if workers is None:
            problems.add(("jobs", index), "nothing says where it runs", allowed="hosts: [h1, h2], or workers: 2")
            return None
        if workers > len(free):
            problems.add(
                ("jobs", index, "workers"), "not so many hosts are left", found=str(workers),
                allowed=f"at most {len(free)} of the {len(topology.hosts)} hosts, or more topology.hosts",
            )  # fmt: skip
            return None
        placed.append(replace(job, hosts=tuple(free[:workers])))
        free = free[workers:]
    return tuple(placed)


def with_size(job: Job, transport: Transport) -> Job:
    """The size of a gradient that follows from a model."""
    if job.model is None:
        return job
    elements = sum(scaled_layers(job.model, job.scale, transport.path_mtu // _ELEMENT_BYTES))
    return replace(job, size_bytes=_ELEMENT_BYTES * elements)


def _shared(
    problems: Problems, path: KeyPath, value: object, base: Job, keys: SharedJobKeys | None, folder: Path
) -> Job | None:
    """`base` with what `keys` give; sections inside are looked at even when `keys` has problems."""
    data: dict[str, Any] = value if isinstance(value, dict) else {}
    before, job = len(problems), base
    if data.get("straggler") is not None:
        job = _straggler(problems, (*path, "straggler"), data["straggler"], job)
    if data.get("compute") is not None:
        job = _compute(problems, (*path, "compute"), data["compute"], job)
    if keys is None:
        return None
    given = keys.model_fields_set
    several = [key for key in _GRADIENTS if key in given]
    if len(several) > 1:
        problems.add(
            (*path, several[1]),
            f"stands beside {several[0]}",
            allowed=f"one of {', '.join(_GRADIENTS)}: how large a gradient is",
        )
        return None
    job = replace(job, **{field: getattr(keys, key) for key, field in _PLAIN.items() if key in given})
    if "size" in given:
        if keys.scale != Job().scale:
            problems.add((*path, "scale"), "stands beside size", allowed="with model or layers; a size is not divided")
        job = replace(job, model=None, scale=Job().scale)
    elif keys.model is not None:
        job = replace(job, model=_model(problems, (*path, "model"), keys.model, folder))
    elif keys.layers is not None:
        job = replace(job, model=_layers(problems, (*path, "layers"), keys.layers))
    if len(problems) > before:
        return None
    _check_times(problems, path, job)
    return None if len(problems) > before else job


def _straggler(problems: Problems, path: KeyPath, value: object, job: Job) -> Job:
    late = validate_section(problems, path, value, StragglerKeys, "the straggler")
    if late is None:
        return job
    if late.delay is None and late.slowdown is None:
        problems.add(
            (*path, "delay"), "is missing", allowed="a number with ns, us, ms, s or min, as 2ms; or slowdown, as 1.5"
        )
    return replace(job, straggle_rank=late.rank, straggle_ns=late.delay or 0, straggle_factor=late.slowdown or 1.0)


def _compute(problems: Problems, path: KeyPath, value: object, job: Job) -> Job:
    keys = validate_section(problems, path, value, ComputeKeys, "compute")
    if keys is None:
        return job
    if keys.ratio is not None and (keys.forward is not None or keys.backward is not None):
        problems.add((*path, "ratio"), "stands beside times", allowed="ratio, or forward and backward")
    elif (keys.forward is None) != (keys.backward is None):
        missing = "forward" if keys.forward is None else "backward"
        problems.add((*path, missing), "is missing", allowed="both forward and backward, as 20ms")
    if keys.jitter >= 1:
        problems.add((*path, "jitter"), "out of range", found=f"{keys.jitter:.0%}", allowed="0% to below 100%")
    return replace(job, compute=Compute(keys.ratio, keys.forward, keys.backward, keys.jitter))


def _check_times(problems: Problems, path: KeyPath, job: Job) -> None:
    """Whoever varies times must have some."""
    compute, model = job.compute, job.model
    measured = model is not None and model.forward_ns + model.backward_ns > 0
    timed = compute is not None and (compute.ratio is not None or compute.forward_ns is not None)
    if timed or measured:
        return
    if compute is not None:
        problems.add(
            (*path, "compute"), "no times, and nothing measured that could vary",
            allowed="ratio, or forward and backward",
        )  # fmt: skip
    elif job.straggle_factor != 1.0:
        problems.add(
            (*path, "straggler", "slowdown"), "nobody computes anything that could take longer",
            found=f"{job.straggle_factor:g}", allowed="with compute, or with layers of measured times",
        )  # fmt: skip


def _model(problems: Problems, path: KeyPath, name: str, folder: Path) -> Model | None:
    if not name.endswith(".csv"):
        if name in model_names():
            return create_model(name)
        known = model_names()
        problems.add(
            path, "no such model", found=show(name), allowed=f"{', '.join(known)}, or the path of a CSV file (*.csv)",
            hint=closest(name, known),
        )  # fmt: skip
        return None
    here = Path() if problems.place(path).file == SET_FILE else folder
    try:
        return parse_model(read_text(here / name, name), name, name)
    except ScenarioError as error:
        problems.relay(path, error)
        return None


def _layers(problems: Problems, path: KeyPath, value: object) -> Model | None:
    if not isinstance(value, list) or not value:
        problems.add(
            path, "not a list of layers", found=show(value), allowed="one per `- layer: ...`, in forward order"
        )
        return None
    layers: dict[str, Layer] = {}
    for index, entry in enumerate(value):
        keys = validate_section(problems, (*path, index), entry, LayerKeys, "the layer")
        if keys is None:
            continue
        if keys.layer in layers:
            problems.add((*path, index, "layer"), "two layers of one name", found=show(keys.layer))
        tensors = keys.elements if isinstance(keys.elements, tuple) else (keys.elements,)
        layers[keys.layer] = Layer(keys.layer, tensors, 0, keys.forward, keys.backward)
    return Model("", tuple(layers.values()))

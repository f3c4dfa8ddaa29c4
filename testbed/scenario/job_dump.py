"""`job` and `jobs`, from value to file."""

from __future__ import annotations

from typing import Any

from testbed.reading.units import format_duration, format_probability, format_size
from testbed.scenario.model import Compute, Job
from workloads.models import Layer, create_model, model_names

__all__ = ["dump_entry", "dump_job"]


def dump_job(job: Job) -> dict[str, Any]:
    """The entry that loads back to the same value."""
    result: dict[str, Any] = {"collective": job.collective, "workload": job.workload}
    result |= _gradient(job)
    result |= {
        "dtype": job.dtype,
        "op": job.op,
        "iterations": job.iterations,
        "message_packets": job.message_packets,
        "window_messages": job.window_messages,
        "copies": job.copies,
        "window_packets": job.window_packets,
        "credit": job.credit,
        "hello": job.hello,
        "fallback": job.fallback,
        "pipelined": job.pipelined,
    }
    return result | job.own_keys | _when(job)


def dump_entry(job: Job) -> dict[str, Any]:
    """One of `jobs`, with all that `job` could give it."""
    result: dict[str, Any] = {"name": job.name, "id": job.number, "workload": job.workload}
    result |= _gradient(job)
    result |= {
        "dtype": job.dtype,
        "iterations": job.iterations,
        "window_packets": job.window_packets,
        "seed_offset": job.seed_offset,
        "arrival": format_duration(job.arrival_ns),
    }
    return result | _when(job)


def _gradient(job: Job) -> dict[str, Any]:
    if job.workload == "digits":
        return {}
    result: dict[str, Any] = {}
    if job.model is None:
        # A scale without a model is for the entries of `jobs` that have one.
        scaled = job.scale != Job().scale and job.size_bytes == Job().size_bytes
        result |= {"scale": job.scale} if scaled else {"size": format_size(job.size_bytes)}
    else:
        known = job.model.name in model_names() and job.model == create_model(job.model.name)
        result |= {"model": job.model.name} if known else {"layers": [_layer(layer) for layer in job.model.layers]}
        result["scale"] = job.scale
    if job.compute is not None:
        result["compute"] = _compute(job.compute)
    return result


def _layer(layer: Layer) -> dict[str, Any]:
    return {
        "layer": layer.name,
        "elements": list(layer.tensors) if len(layer.tensors) > 1 else layer.elements,
        "forward": format_duration(layer.forward_ns),
        "backward": format_duration(layer.backward_ns),
    }


def _compute(compute: Compute) -> dict[str, Any]:
    result: dict[str, Any] = {} if compute.ratio is None else {"ratio": compute.ratio}
    if compute.forward_ns is not None and compute.backward_ns is not None:
        result |= {"forward": format_duration(compute.forward_ns), "backward": format_duration(compute.backward_ns)}
    return result | {"jitter": format_probability(compute.jitter)}


def _when(job: Job) -> dict[str, Any]:
    """When and where, as far as it is not as usual."""
    result: dict[str, Any] = {}
    if job.straggle_rank is not None:
        result["straggler"] = {"rank": job.straggle_rank, "delay": format_duration(job.straggle_ns)}
        if job.straggle_factor != 1.0:
            result["straggler"]["slowdown"] = job.straggle_factor
    if job.hosts:
        result["hosts"] = list(job.hosts)
    if job.arrival_ns:
        result["arrival"] = format_duration(job.arrival_ns)
    if job.server:
        result["server"] = job.server
    if job.fixed_scale is not None:
        result["quantisation"] = f"fixed:{job.fixed_scale!r}"
    if job.priority != Job().priority:
        result["priority"] = job.priority
    if job.priority_x0 is not None and job.priority != "equal":
        result["priority_x0"] = job.priority_x0
    return result

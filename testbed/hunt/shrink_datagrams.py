"""What is simpler than a schedule of a datagram protocol, faults left alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from testbed.hunt.protocols import Protocol
from testbed.hunt.shrink_hosts import on_rack, on_rack_behind
from testbed.scenario.model import Scenario

__all__ = ["smaller_datagrams"]


_SEEDS = (1, 2, 3)


def smaller_datagrams(scenario: Scenario, protocol: Protocol) -> Iterator[Scenario]:
    """Fewer jobs, workers, iterations and blocks; smaller windows and less memory. Each with some other seeds as well: faults
    know datagrams by their bytes, so that a smaller job meets other dice."""
    for smaller in _smaller(scenario, protocol):
        yield smaller
        yield from (replace(smaller, seed=seed) for seed in _SEEDS if seed != scenario.seed)


def _smaller(scenario: Scenario, protocol: Protocol) -> Iterator[Scenario]:
    yield from _fewer_jobs(scenario)
    yield from _fewer_packets(scenario)
    job, switch = scenario.job, scenario.switch
    for window in sorted({1, job.window_packets // 2, job.window_packets - 1}):
        if 1 <= window < job.window_packets:
            yield replace(scenario, job=replace(job, window_packets=window))
    least = protocol.values_per_index * job.copies
    for memory in sorted({least, switch.memory // 2, switch.memory - 1}):
        if least <= memory < switch.memory:
            yield replace(scenario, switch=replace(switch, memory=memory))
    if job.dtype != "int32" and "int32" in protocol.dtypes:
        yield replace(scenario, job=replace(job, dtype="int32"))


def _fewer_jobs(scenario: Scenario) -> Iterator[Scenario]:
    """The jobs that are left keep as many workers each; or every job gets fewer."""
    if scenario.topology.kind != "rack":
        return
    job = scenario.job
    size = len(scenario.topology.hosts) // job.copies
    for copies in sorted({1, job.copies - 1}):
        if 1 <= copies < job.copies and copies * size >= 2:
            for fewer in (
                on_rack(scenario, copies * size),
                on_rack_behind(scenario, (job.copies - copies) * size),
            ):
                yield replace(fewer, job=replace(fewer.job, copies=copies))
    for each in sorted({1, 2, size - 1}):
        if 1 <= each < size and job.copies * each >= 2:
            yield on_rack(scenario, job.copies * each)


def _fewer_packets(scenario: Scenario) -> Iterator[Scenario]:
    job, transport = scenario.job, scenario.transport
    for iterations in sorted({1, job.iterations - 1}):
        if 1 <= iterations < job.iterations:
            yield replace(scenario, job=replace(job, iterations=iterations))
    room = transport.path_mtu
    blocks = -(-job.size_bytes // room)
    last = job.size_bytes - (blocks - 1) * room
    for fewer in sorted({1, blocks // 2, blocks - 1}):
        if 1 <= fewer < blocks:
            yield replace(scenario, job=replace(job, size_bytes=(fewer - 1) * room + last))
    if last > 4:
        yield replace(scenario, job=replace(job, size_bytes=(blocks - 1) * room + 4))
    if room > 256:
        size = (blocks - 1) * 256 + min(last, 256)
        yield replace(scenario, job=replace(job, size_bytes=size), transport=replace(transport, path_mtu=256))

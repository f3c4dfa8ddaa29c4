"""What a configuration of an ATP, ESA or GRID worker must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.atp.config import AtpConfig
from workloads.datagrams.priority import LEAST_X0, MOST_X0
from workloads.datagrams.problems import (
    MAX_INDICES,
    MAX_WORKERS,
    MAX_WORKERS_IN_RACKS,
    ConfigProblem,
    problems_in_packets,
    problems_in_share,
    problems_in_timeout,
    problems_in_workload,
)
from workloads.datagrams.worker_sets import MAX_RACKS
from workloads.server.kinds import DTYPES, served_kinds
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["problems_in_worker"]


def problems_in_worker(config: AtpConfig) -> Iterator[ConfigProblem]:
    share = config.collective
    names_racks = share.kind in served_kinds() and served_kinds()[share.kind].names_racks
    most = MAX_WORKERS_IN_RACKS if names_racks else MAX_WORKERS
    yield from problems_in_share(share, config.envelope, tuple(served_kinds()), DTYPES, most)
    rack, place = config.place
    if share.size > MAX_WORKERS and not (0 <= rack < config.fan_in[1] <= MAX_RACKS and 0 <= place < config.fan_in[0]):
        yield ConfigProblem("place", str(config.place), "a rack of fan_in[1], and a worker of fan_in[0] there")
    yield from problems_in_workload(config.workload)
    yield from problems_in_timeout(config.rto_ns)
    most = served_kinds()[share.kind].most_elements if share.kind in served_kinds() else MAX_ELEMENTS
    yield from problems_in_packets(config.elements, config.window, most)
    if config.ways < 0:
        yield ConfigProblem("ways", str(config.ways), "0 or more")
    if config.fixed_scale is not None and (share.arithmetic.dtype != "float32" or config.fixed_scale <= 0):
        yield ConfigProblem(
            "fixed_scale", f"{config.fixed_scale:g} for {share.arithmetic.dtype}", "above 0, for float32"
        )
    if config.priority_x0 is not None and not LEAST_X0 <= config.priority_x0 <= MOST_X0:
        yield ConfigProblem("priority_x0", f"{config.priority_x0:g}", f"{LEAST_X0:g} .. {MOST_X0:g}")
    if not 1 <= config.memory <= MAX_INDICES:
        yield ConfigProblem("memory", str(config.memory), f"1 .. {MAX_INDICES} aggregators")

"""What a configuration of an ATP, ESA or GRID worker must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.atp.config import KINDS, AtpConfig
from workloads.atp.priority import LEAST_X0, MOST_X0
from workloads.datagrams.mistakes import (
    MAX_INDICES,
    Mistake,
    mistakes_in_packets,
    mistakes_in_share,
    mistakes_in_timeout,
    mistakes_in_workload,
)
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["DTYPES", "mistakes_in_worker"]

DTYPES = ("float32", "int32", "int32sat")


def mistakes_in_worker(config: AtpConfig) -> Iterator[Mistake]:
    share = config.collective
    yield from mistakes_in_share(share, config.envelope, tuple(KINDS), DTYPES)
    yield from mistakes_in_workload(config.workload)
    yield from mistakes_in_timeout(config.rto_ns)
    most = KINDS[share.kind].most_elements if share.kind in KINDS else MAX_ELEMENTS
    yield from mistakes_in_packets(config.elements, config.window, most)
    if config.fixed_scale is not None and (share.arithmetic.dtype != "float32" or config.fixed_scale <= 0):
        yield Mistake("fixed_scale", f"{config.fixed_scale:g} for {share.arithmetic.dtype}", "above 0, for float32")
    if config.priority_x0 is not None and not LEAST_X0 <= config.priority_x0 <= MOST_X0:
        yield Mistake("priority_x0", f"{config.priority_x0:g}", f"{LEAST_X0:g} .. {MOST_X0:g}")
    if not 1 <= config.memory <= MAX_INDICES:
        yield Mistake("memory", str(config.memory), f"1 .. {MAX_INDICES} aggregators")

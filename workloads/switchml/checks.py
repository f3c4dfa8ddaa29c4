"""What a configuration of a SwitchML worker must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.datagrams.mistakes import (
    Mistake,
    mistakes_in_packets,
    mistakes_in_share,
    mistakes_in_timeout,
    mistakes_in_workload,
)
from workloads.switchml.config import SwitchMlConfig

__all__ = ["mistakes_in_worker"]

_DTYPES = ("float32", "int32")


def mistakes_in_worker(config: SwitchMlConfig) -> Iterator[Mistake]:
    yield from mistakes_in_share(config.collective, config.envelope, ("switchml",), _DTYPES)
    yield from mistakes_in_workload(config.workload)
    yield from mistakes_in_timeout(config.rto_ns)
    yield from mistakes_in_packets(config.elements, config.window, config.most_elements)

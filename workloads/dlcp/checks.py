"""What a configuration of a host of a DLCP job must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.datagrams.problems import (
    MAX_WORKERS,
    ConfigProblem,
    problems_in_packets,
    problems_in_share,
    problems_in_timeout,
    problems_in_workload,
)
from workloads.dlcp.config import DlcpConfig
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["problems_in_host"]

_DTYPES = ("float32", "int32", "int32sat")


def problems_in_host(config: DlcpConfig) -> Iterator[ConfigProblem]:
    if not 2 <= config.collective.size <= MAX_WORKERS:
        allowed = f"2 .. {MAX_WORKERS}: the server, and who sends to it"
        yield ConfigProblem("collective.size", str(config.collective.size), allowed)
        return
    if not 0 <= config.loss_bound < 1:
        yield ConfigProblem("loss_bound", str(config.loss_bound), "0 or more, below 1")
    if not 0 <= config.important <= 1:
        yield ConfigProblem("important", str(config.important), "0 .. 1")
    peers = 2 if config.ring else config.senders if config.is_server else 1
    if len(config.peers) != peers:
        yield ConfigProblem("peers", f"{len(config.peers)} envelopes", str(peers))
        return
    for envelope in config.peers:
        yield from problems_in_share(config.collective, envelope, ("dlcp",), _DTYPES)
    yield from problems_in_workload(config.workload)
    yield from problems_in_timeout(config.rto_ns)
    yield from problems_in_packets(config.elements, config.window, MAX_ELEMENTS)

"""What a configuration of a SwitchML worker must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.datagrams.problems import (
    ConfigProblem,
    problems_in_packets,
    problems_in_share,
    problems_in_timeout,
    problems_in_workload,
)
from workloads.switchml.config import SwitchMlConfig

__all__ = ["problems_in_worker"]

_DTYPES = ("float32", "int32")


def problems_in_worker(config: SwitchMlConfig) -> Iterator[ConfigProblem]:
    yield from problems_in_share(config.collective, config.envelope, ("switchml",), _DTYPES)
    yield from problems_in_workload(config.workload)
    yield from problems_in_timeout(config.rto_ns)
    yield from problems_in_packets(config.elements, config.window, config.most_elements)
    yield from _problems_in_omitted(config)


def _problems_in_omitted(config: SwitchMlConfig) -> Iterator[ConfigProblem]:
    parts, elements = config.omitted, config.workload.elements
    if parts is None:
        return
    if config.uc is not None:
        yield ConfigProblem("omitted", "parts of a vector", "null: over UC all elements travel")
    for name, (first, number) in (("given", parts.given), ("wanted", parts.wanted), ("owned", parts.owned)):
        if first < 0 or number < 0 or first + number > elements:
            found = f"{number} elements from {first} on"
            yield ConfigProblem(f"omitted.{name}", found, f"elements among the {elements} of the gradient")

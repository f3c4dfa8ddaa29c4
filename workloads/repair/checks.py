"""What a configuration of a host of a repair job must keep."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.codes import CODES, problem_of
from workloads.datagrams.problems import (
    ConfigProblem,
    problems_in_packets,
    problems_in_share,
    problems_in_timeout,
    problems_in_workload,
)
from workloads.repair.config import OPS, RepairConfig
from workloads.wire.aggregation import MAX_ELEMENTS

__all__ = ["problems_in_host"]

_DTYPES = ("float32", "int32")


def problems_in_host(config: RepairConfig) -> Iterator[ConfigProblem]:
    share, rank = config.share, config.collective.rank
    if share.name not in CODES:
        yield ConfigProblem("share.name", share.name, ", ".join(CODES))
        return
    problem = problem_of(share.name, share.n, share.k, share.d)
    if problem is not None:
        key, wrong, allowed = problem
        yield ConfigProblem(f"share.{key}", f"{getattr(share, key)}: {wrong}", allowed)
        return
    nodes = {share.lost, *share.donors}
    if len(share.donors) != share.d or len(nodes) != share.d + 1 or not nodes <= set(range(share.n)):
        found = f"{list(share.donors)} for node {share.lost}"
        yield ConfigProblem("share.donors", found, f"{share.d} others of the nodes 0 .. {share.n - 1}")
        return
    if config.collective.size != share.d + 1:
        yield ConfigProblem("collective.size", str(config.collective.size), f"{share.d + 1}: donors and the newcomer")
    if config.op not in OPS:
        yield ConfigProblem("op", config.op, ", ".join(OPS))
    if config.workload.elements % share.code.alpha:
        yield ConfigProblem("workload.elements", str(config.workload.elements), f"a multiple of {share.code.alpha}")
    answers = share.d if rank == share.d and not config.combined else 1
    if len(config.answers) != answers:
        yield ConfigProblem("answers", f"{len(config.answers)} envelopes", str(answers))
        return
    for envelope in config.answers:
        yield from problems_in_share(config.collective, envelope, ("repair",), _DTYPES)
    yield from problems_in_workload(config.workload)
    yield from problems_in_timeout(config.rto_ns)
    yield from problems_in_packets(config.elements, config.window, MAX_ELEMENTS)

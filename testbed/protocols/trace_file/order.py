"""What each rank of a trace must hold, worked out from the plan and the vectors of all ranks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from testbed.checkers.contract import JudgedProtocol
from testbed.checkers.folds import Array
from testbed.plan.model import Plan
from testbed.protocols.trace_file.keys import all_reduce_of, trace_keys
from testbed.protocols.trace_file.keys_runs import in_datagrams, operation_of, runner
from testbed.scenario.protocols.known import protocol_of
from workloads.config import HostConfig
from workloads.errors import InternalError
from workloads.traces.matching import MESSAGE

__all__ = ["in_trace"]


def in_trace(plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
    """Each operation has a part of its own in the vectors of its ranks. A message brings the receiver what the sender
    gives; a collective sums as the protocol that runs it does. All else is 0."""
    whole = plan.scenario.job
    keys = trace_keys(whole)
    _, operations = keys.load()
    layout = keys.layout()
    results = [np.zeros_like(gradient) for gradient in gradients]
    turns = [iter(own) for own in layout.communications]
    for each in operations:
        parts = [next(turns[rank]) for rank in each.ranks]
        given = [
            gradients[rank][part.gives_first : part.gives_first + part.gives]
            for rank, part in zip(each.ranks, parts, strict=True)
        ]
        if each.kind == MESSAGE or len(each.ranks) == 1:
            held = [given[0][:0] if each.kind == MESSAGE else given[0], given[0]][: len(parts)]
        else:
            operation = operation_of(each)
            own = in_datagrams(each, whole, len(workers))
            protocol = protocol_of(whole.protocol) if own else runner(operation, all_reduce_of(whole))
            if not isinstance(protocol, JudgedProtocol):
                raise InternalError(f"nothing judges {operation} in a trace")
            job = replace(whole, operation=operation, root=each.root, own=None, file=None)
            alone = replace(plan, scenario=replace(plan.scenario, job=job))
            held = protocol.order(alone, [workers[rank] for rank in each.ranks], given)
        for rank, part, vector in zip(each.ranks, parts, held, strict=True):
            first = part.holds_first + part.kept_first
            results[rank][first : first + part.kept] = vector
    return results

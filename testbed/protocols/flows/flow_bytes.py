"""Every flow that ended brought, bit for bit, what its sender was given."""

from __future__ import annotations

from collections import Counter

from testbed.checkers.checker import Checker
from testbed.checkers.context import CheckContext
from testbed.history.verdict import CheckResult, Verdict
from workloads.flows import FlowsConfig
from workloads.flows.content import content_of, digest_of
from workloads.flows.events import FlowArrived, FlowBegan

__all__ = ["FLOW_BYTES", "flow_bytes"]

_NAME = "flow_bytes"
_SHOWN = 8


def flow_bytes(context: CheckContext) -> CheckResult:
    """Compare the digest of each receiver's memory with that of the bytes, which are made again. Flows without an end
    are counted: `liveness` judges them."""
    expected = {
        end.number: (worker.name, end.size, worker.workload.seed)
        for worker in context.plan.workers
        if isinstance(worker, FlowsConfig)
        for end in worker.incoming
    }
    came, wrong = Counter[int](), []
    for record in context.events(FlowArrived):
        number = record.event.flow
        came[number] += 1
        receiver, size, seed = expected.get(number, ("", 0, 0))
        if record.node != receiver:
            wrong.append(f"flow {number} ended at {record.node}, and its receiver is {receiver or 'no host'}")
        elif record.event.bytes != size:
            wrong.append(f"flow {number} brought {record.event.bytes} bytes of {size}")
        elif record.event.sha256 != digest_of(content_of(seed, number, size)):
            wrong.append(f"flow {number} brought other bytes to {receiver} than its sender was given")
    wrong += [f"flow {number} ended {times} times" for number, times in came.items() if times > 1]
    if wrong:
        return CheckResult(
            _NAME, Verdict.FAIL, f"{len(wrong)} flows are wrong; first: {wrong[0]}", tuple(wrong[:_SHOWN])
        )
    if not came:
        return CheckResult(_NAME, Verdict.UNKNOWN, "no flow ended: there is nothing to compare")
    begun = len(context.events(FlowBegan))
    left = f"; {begun - len(came)} more began and did not end" if begun > len(came) else ""
    return CheckResult(_NAME, Verdict.PASS, f"{len(came)} flows brought what their senders were given{left}")


FLOW_BYTES = Checker(_NAME, flow_bytes, proves="every flow that ended brought what its sender was given, bit for bit")

"""The checker of DLCP: each result follows from the packets that hosts reported as received, and these are enough.

Each flow ends with exactly ceil((1 - p) M) of its M packets. Every packet that came entered its sum once. Each host
holds, bit for bit, what follows from the gradients and from the reported bitmaps, in whatever order packets came. No
element is further from the full sum than the magnitudes that were left out, added up.
"""

from __future__ import annotations

from testbed.checkers.checker import Checker
from testbed.checkers.context import CheckContext, is_training
from testbed.checkers.reference import SourceFactory, default_sources
from testbed.history.verdict import CheckResult, Verdict
from testbed.protocols.dlcp.bounded_jobs import job_judge
from testbed.protocols.dlcp.bounded_told import Findings, told_in, what_came
from testbed.protocols.dlcp.bounded_training import bounded_training
from testbed.terminal.words import violations
from workloads.dlcp import DlcpConfig

__all__ = ["BOUNDED_LOSS", "bounded_loss"]

_NAME = "bounded_loss"
_SHOWN = 8


def bounded_loss(context: CheckContext, create: SourceFactory | None = None) -> CheckResult:
    """`create` makes the gradients; None: `workloads.gradients.create_source`."""
    if is_training(context):
        return bounded_training(context)
    told, findings = told_in(context), Findings()
    findings.wrong += told.wrong
    for group in context.plan.groups.values():
        hosts = [worker for worker in group if isinstance(worker, DlcpConfig)]
        judge = job_judge(hosts, told, findings)
        findings.wrong += judge.problems(create or default_sources())
    if findings.wrong:
        return CheckResult(_NAME, Verdict.FAIL, violations(findings.wrong), tuple(findings.wrong[:_SHOWN]))
    if findings.missing or not findings.compared:
        missing = findings.missing or ["no host completed an iteration"]
        detail = f"the {findings.compared} reported results are right, others are missing; first: {missing[0]}"
        return CheckResult(_NAME, Verdict.UNKNOWN, detail, tuple(missing[:_SHOWN]))
    return CheckResult(_NAME, Verdict.PASS, what_came(findings.compared, findings.left_out))


BOUNDED_LOSS = Checker(
    _NAME, bounded_loss,
    proves="every rank holds, bit for bit, the sum of what was reported as received, and that is enough",
)  # fmt: skip

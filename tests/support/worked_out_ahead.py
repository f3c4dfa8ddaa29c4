"""What a cheat can work out ahead of a run, for `lying_programs`: they are loaded as a user's file is, so they cannot
be told."""

from __future__ import annotations

import hashlib
from typing import Any

from testbed.checkers.context import CheckContext
from testbed.checkers.messages import message_layout
from testbed.checkers.reference import expected_results
from testbed.hunt.survival_datagrams import blocks_of
from testbed.plan import Plan

__all__ = ["GIVEN", "work_out"]

GIVEN: dict[str, Any] = {}
"""`told`: (worker, digest of the right sum, bytes); `packets` of each message; number of `blocks`"""


def work_out(plan: Plan) -> None:
    (results,) = expected_results(plan)
    sums = {worker.name: total.tobytes() for worker, total in zip(plan.workers, results, strict=True)}
    GIVEN["told"] = [(worker, hashlib.sha256(total).hexdigest(), len(total)) for worker, total in sums.items()]
    if plan.ring_workers:
        layout = message_layout(CheckContext(plan, []))
        GIVEN["packets"] = [layout.packets(number) for number in range(layout.total)]
    else:
        GIVEN["blocks"] = blocks_of(plan.scenario, plan.scenario.job)

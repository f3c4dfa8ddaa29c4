"""Every worker holds, bit for bit, what the independent reference says, after every iteration."""

from __future__ import annotations

import hashlib
import zlib

from testbed.checkers.context import CheckContext
from testbed.checkers.messages import message_layout
from testbed.checkers.reference import Array, SourceFactory, expected_results
from testbed.verdict import CheckResult, Verdict

__all__ = ["bit_exact"]

_SHOWN = 8


def bit_exact(context: CheckContext, create: SourceFactory | None = None) -> CheckResult:
    """`create` makes the gradients; None: `workloads.gradients.create_source`."""
    told: dict[tuple[int, str], set[str]] = {}
    for record in context.events("CollectiveCompleted"):
        told.setdefault((record["iteration"], record["node"]), set()).add(record["sha256"])
    if not told:
        return CheckResult(
            "bit_exact", Verdict.UNKNOWN, "no worker completed an iteration: there is nothing to compare"
        )
    wrong, missing, compared, iterations = [], [], 0, 0
    for iteration, results in enumerate(expected_results(context.plan, create)):
        iterations += 1
        if not any((iteration, worker) in told for worker in context.workers):
            missing += [f"{worker} told no result of iteration {iteration}" for worker in context.workers]
            continue
        for worker, expected in zip(context.workers, results, strict=True):
            digests = told.get((iteration, worker))
            if digests is None:
                missing.append(f"{worker} told no result of iteration {iteration}")
                continue
            compared += 1
            data = _little_endian(expected)
            right = hashlib.sha256(data).hexdigest()
            if digests != {right}:
                other = sorted(digests - {right})[0]
                where = _first_difference(context, iteration, worker, data)
                wrong.append(
                    f"{worker}, iteration {iteration}: sha256 {other[:16]}... instead of {right[:16]}...; {where}"
                )
    if wrong:
        detail = f"{len(wrong)} of {compared} results differ from the reference; first: {wrong[0]}"
        return CheckResult("bit_exact", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    if missing:
        detail = f"the {compared} results that were told are right, {len(missing)} are missing; first: {missing[0]}"
        return CheckResult("bit_exact", Verdict.UNKNOWN, detail, tuple(missing[:_SHOWN]))
    detail = f"all {len(context.workers)} workers hold the reference's bits after " + (
        f"each of {iterations} iterations" if iterations > 1 else "the iteration"
    )
    return CheckResult("bit_exact", Verdict.PASS, detail)


def _little_endian(values: Array) -> bytes:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def _first_difference(context: CheckContext, iteration: int, worker: str, expected: bytes) -> str:
    """Which message brought the first wrong element."""
    if not context.plan.ring_workers:
        return "workers tell no digests of single blocks, so no block can be named"
    layout = message_layout(context)
    if context.plan.workers[0].collective.kind == "ring":
        return "a ring's messages carry partial sums, so no message can be named"
    told = {
        record["message"]: record["crc32"] for record in context.events("MessageReceived") if record["node"] == worker
    }
    first = layout.hello + iteration * layout.per_iteration
    for index in range(layout.per_iteration):
        start, stop = layout.span(index)
        crc32 = told.get(first + index)
        if crc32 is None:
            return f"{layout.name(first + index)} was not told"
        if crc32 != zlib.crc32(expected[start:stop]):
            return f"the first message that differs is {layout.name(first + index)}, elements {start // 4}..{stop // 4 - 1}"
    return "every message arrived right, so the worker put them together wrongly"

"""Right digests without frames that brought the sums are no right sums."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from switch_nodes.forwarding import ForwardProgram
from switch_nodes.registry import create_program
from testbed.captures.capture import MemoryTap
from testbed.captures.pcapng import CapturedFrame
from testbed.checkers import CheckContext
from testbed.checkers.bit_exact import bit_exact
from testbed.checkers.delivered import delivered_results
from testbed.checkers.reference import expected_results
from testbed.history import Record, sort_history
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.records import a_record, event_with
from workloads.events import CollectiveCompleted
from workloads.rc.captured import data_of, parse_frame

SMALL = ["job.size=20kB", "job.message_packets=4", "time_limit=2s"]


def ran(name: str, *overrides: str, create: Any = create_program) -> CheckContext:
    plan = make_plan(load_scenario(name, [*SMALL, *overrides], world="simulated"))
    taps = {
        config.name: MemoryTap(
            config.name, [link.name for _, link, _ in sorted(plan.scenario.topology.ports(config.name))]
        )
        for config in plan.switches
    }
    return CheckContext(plan, sort_history(simulate(plan, taps, create)), tuple(taps.values()))


def with_right_digests(context: CheckContext) -> list[Record]:
    """As a liar would tell them."""
    right = {
        (iteration, worker.name): hashlib.sha256(total.tobytes()).hexdigest()
        for iteration, results in enumerate(expected_results(context.plan))
        for worker, total in zip(context.plan.workers, results, strict=True)
    }
    return [
        event_with(record, sha256=right[record.event.iteration, record.node])
        if isinstance(record.event, CollectiveCompleted) else record
        for record in context.history
    ]  # fmt: skip


@dataclass(frozen=True)
class Altered:
    """A capture, some frames of which are another's, or gone (None)."""

    of: MemoryTap
    change: Any

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def switch(self) -> str:
        return self.of.switch

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        for interface, captured in self.of.read():
            frame = self.change(interface, captured)
            if frame is not None:
                yield interface, captured._replace(frame=frame)


def judged(context: CheckContext, change: Any) -> tuple[Verdict, str]:
    captures = tuple(Altered(tap, change) for tap in context.captures if isinstance(tap, MemoryTap))
    result = bit_exact(CheckContext(context.plan, context.history, captures))
    return result.verdict, result.detail


@pytest.mark.parametrize(
    "words", [["rack"], ["rack-lossy"], ["rack", "transport.start_psn=16777210"], ["spine-leaf-lossy"]]
)
def test_frames_that_brought_the_sums_are_found(words: list[str]) -> None:
    context = ran(*words)
    found = delivered_results(context)
    assert found is not None
    assert set(found.seen) == set(context.workers)
    assert bit_exact(context).verdict is Verdict.PASS


def test_right_digests_of_sums_that_nobody_made() -> None:
    context = ran("rack", create=ForwardProgram)
    assert bit_exact(context).verdict is Verdict.FAIL
    told = CheckContext(context.plan, with_right_digests(context), context.captures)
    assert bit_exact(CheckContext(told.plan, told.history)).verdict is Verdict.PASS  # nobody watched
    result = bit_exact(told)
    assert result.verdict is Verdict.FAIL
    assert (
        "h1, iteration 0: it reported the right sum, and only frames with another sum left for it with packet 0 "
        "of message "
        "1" in result.detail
    )


@pytest.mark.parametrize(
    ("packet", "name"), [(1, "packet 0 of message 1"), (2, "packet 1 of message 1"), (-1, "packet 3 of message 5")]
)
def test_each_packet_counts(packet: int, name: str) -> None:
    context = ran("rack", "job.iterations=1")
    psns = sorted({
        found.psn
        for interface, captured in context.captures[0].read()  # type: ignore[union-attr]
        if captured.outgoing and interface == "h3-s1" and (found := data_of(captured.frame)) is not None
    })  # fmt: skip

    def gone(interface: str, captured: CapturedFrame) -> bytes | None:
        found = data_of(captured.frame)
        hit = captured.outgoing and interface == "h3-s1" and found is not None and found.psn == psns[packet]
        return None if hit else captured.frame

    def altered(interface: str, captured: CapturedFrame) -> bytes:
        if gone(interface, captured) is not None:
            return captured.frame
        return captured.frame[:-20] + bytes([captured.frame[-20] ^ 1]) + captured.frame[-19:]

    assert judged(context, lambda interface, captured: captured.frame)[0] is Verdict.PASS
    for change, what in ((gone, "no frame"), (altered, "only frames with another sum")):
        verdict, detail = judged(context, change)
        assert verdict is Verdict.FAIL
        assert f"h3, iteration 0: it reported the right sum, and {what} left for it with {name}" in detail


@pytest.mark.parametrize("event", ["CaptureCut", "CaptureLost"])
def test_a_capture_with_holes_is_no_witness(event: str) -> None:
    context = ran("rack")
    record = a_record(0, "world", event)
    assert delivered_results(CheckContext(context.plan, [*context.history, record], context.captures)) is None


def test_data_is_read_as_the_careful_reader_reads_it() -> None:
    context = ran("rack-lossy")
    frames = 0
    for _, captured in context.captures[0].read():  # type: ignore[union-attr]
        frame, found = parse_frame(captured.frame), data_of(captured.frame)
        assert frame is not None
        if found is not None:
            assert (found.connection, found.psn, found.payload) == (frame.connection, frame.psn, frame.payload)
            frames += 1
        else:
            assert frame.role.name != "DATA"
    assert frames > 100

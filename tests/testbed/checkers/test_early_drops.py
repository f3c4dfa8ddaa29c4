"""The checker of queues with classes, and the figures about them, on a real run and on what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from testbed.captures.capture import EARLY, MemoryTap
from testbed.captures.pcapng import CapturedFrame
from testbed.checkers.context import CheckContext
from testbed.checkers.early_drops import early_drops, skip_early_drops
from testbed.checkers.fidelity import judge_fidelity
from testbed.figures.queues import queue_metrics
from testbed.history.events import QueueDropped, ShapingMeasured
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import make_plan
from testbed.report.links import links_html
from testbed.report.summary import _of_classes
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation
from tests.support.records import event_with
from tests.support.simulation import rack_plan

PORT, LINK = 1, "h2-s1"


def run(*changes: str) -> CheckContext:
    plan = make_plan(load_scenario("priority", ["job.size=40kB", *changes], world="simulated"))
    links = [link.name for _, link, _ in sorted(plan.scenario.topology.ports("s1"))]
    tap, records = MemoryTap("s1", links), list[Any]()
    Simulation(plan, records.append, {"s1": tap}).run()
    return CheckContext(plan, tuple(records), (tap,))


@pytest.fixture(scope="module")
def good() -> CheckContext:
    return run("topology.link.queue=60", "topology.link.drop_low_above=20", "job.size=400kB")


def with_events(context: CheckContext, change: Callable[[Any], dict[str, Any]], kind: str, count: int) -> CheckContext:
    """The first `count` events of a kind that `change` has something for are changed."""
    left, history = count, []
    for record in context.history:
        fields = change(record.event) if record.name == kind and left else {}
        left -= bool(fields)
        history.append(event_with(record, **fields) if fields else record)
    assert not left
    return CheckContext(context.plan, tuple(history), context.captures)


def dropped(context: CheckContext, *, early: bool, **fields: Any) -> CheckResult:
    """What is judged when one such drop was told with other fields; captures are left out."""
    changed = with_events(context, lambda event: fields if event.early == early else {}, "QueueDropped", 1)
    return early_drops(CheckContext(changed.plan, changed.history))


def test_a_good_run_passes_with_its_figures(good: CheckContext) -> None:
    result = early_drops(good)
    assert result.verdict is Verdict.PASS, result
    told = [record.event for record in good.events(QueueDropped)]
    early = sum(event.early for event in told)
    assert early > 50 < len(told) - early
    assert result.detail.startswith(f"{early} frames of the low class dropped while their queues had room, ")
    assert {(event.link, event.direction) for event in told} == {(LINK, "down")}
    figures = queue_metrics(good)
    assert figures is not None
    assert (figures["early"], figures["dropped"]) == (early, len(told) - early)
    by_dscp = figures["by_dscp"][f"{LINK} down"]
    assert by_dscp["15"]["early"] == early
    assert by_dscp["14"] == {"early": 0, "full": sum(event.dscp == 14 for event in told)}
    assert _of_classes(figures) == (
        f"queues with room dropped {early} packets of the low class early (most: {LINK} down {early})"
    )
    assert f"<td>{early:,}</td>" in links_html(good.plan.scenario, good.history, None, None, {})


def test_it_says_so_when_nothing_was_dropped(good: CheckContext) -> None:
    idle = run("background=[]")
    assert early_drops(idle).detail.startswith("0 frames of the low class dropped")
    assert queue_metrics(idle) == {"dropped": 0, "trimmed": 0, "links": {}, "early": 0, "by_dscp": {}}


def test_runs_without_classes_are_not_judged_and_say_nothing(good: CheckContext) -> None:
    plain = CheckContext(rack_plan(2), ())
    assert skip_early_drops(plain) == ""
    assert skip_early_drops(good) is None
    assert queue_metrics(plain) is None


@pytest.mark.parametrize("dscp", [14, 8, 0, -1])
def test_an_early_drop_of_another_class_fails(good: CheckContext, dscp: int) -> None:
    result = dropped(good, early=True, dscp=dscp)
    assert result.verdict is Verdict.FAIL
    assert f"DSCP {dscp}, 20 waiting: dropped early, and not of the low class" in result.detail


@pytest.mark.parametrize(
    ("early", "waiting", "problem"),
    [
        (True, 19, "dropped early below the threshold, 20"),
        (True, 60, "reported as dropped early, and the queue was full"),
        (False, 59, "lost, and the queue had room for 60"),
    ],
)
def test_the_length_of_the_queue_must_allow_it(good: CheckContext, early: bool, waiting: int, problem: str) -> None:
    result = dropped(good, early=early, waiting=waiting)
    assert result.verdict is Verdict.FAIL
    assert problem in result.detail


def test_a_queue_without_a_threshold_drops_nothing_early(good: CheckContext) -> None:
    plan = run("topology.link.drop_low_above=none", "background=[]").plan
    result = early_drops(CheckContext(plan, good.history))
    assert result.verdict is Verdict.FAIL
    assert "dropped early below the threshold, None" in result.detail


def test_a_link_that_knows_no_classes_tells_of_no_drop(good: CheckContext) -> None:
    plan = make_plan(load_scenario("priority", ["topology.links={h2-s1: {priority: none, drop_low_above: none}}"]))
    result = early_drops(CheckContext(plan, good.history))
    assert result.verdict is Verdict.FAIL
    assert "it knows no classes" in result.detail


def test_what_queues_lost_must_have_been_told(good: CheckContext) -> None:
    def more(field: str, count: int = 1) -> CheckResult:
        def change(event: ShapingMeasured) -> dict[str, int]:
            here = (event.link, event.direction) == (LINK, "down")
            return {field: getattr(event, field) + count} if here else {}

        return early_drops(with_events(good, change, "ShapingMeasured", 1))

    early, full = more("early"), more("drops")
    assert early.verdict is Verdict.FAIL
    assert "dropped early, and" in early.detail
    fewer = more("early", -1)
    assert fewer.verdict is Verdict.FAIL
    assert "dropped early, and" in fewer.detail
    assert full.verdict is Verdict.UNKNOWN, "the kernel may have lost it, and nobody knows of which class it was"
    assert "lost by the queue, and" in full.detail


class Altered:
    """A capture with one early drop changed."""

    name = switch = "s1"

    def __init__(self, tap: Any, change: Callable[[CapturedFrame], list[CapturedFrame]]) -> None:
        self._tap, self._change = tap, change

    def read(self) -> Any:
        is_first = True
        for interface, frame in self._tap.read():
            if is_first and frame.comment == EARLY:
                is_first = False
                yield from ((interface, each) for each in self._change(frame))
            else:
                yield interface, frame


def _of_dscp(frame: CapturedFrame, dscp: int) -> CapturedFrame:
    data = bytearray(frame.frame)
    data[15] = dscp << 2
    return CapturedFrame(frame.interface, frame.time_ns, frame.outgoing, bytes(data), frame.comment)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda frame: [], "dropped early in the capture, "),
        (lambda frame: [frame, frame], "dropped early in the capture, "),
        (lambda frame: [_of_dscp(frame, 8)], "s1 dropped a frame with DSCP 8 early on h2-s1"),
        (lambda frame: [_of_dscp(frame, 9)], "h2-s1, DSCP 9: 1 dropped early in the capture, 0 reported"),
    ],
)
def test_captures_must_show_the_same(good: CheckContext, change: Any, problem: str) -> None:
    result = early_drops(CheckContext(good.plan, good.history, (Altered(good.captures[0], change),)))
    assert result.verdict is Verdict.FAIL
    assert any(problem in line for line in result.evidence)


def test_a_capture_that_cannot_be_read_leaves_it_open(good: CheckContext, tmp_path: Any) -> None:
    result = early_drops(CheckContext(good.plan, good.history, (tmp_path / "none.pcapng",)))
    assert result.verdict is Verdict.UNKNOWN


def test_early_drops_are_no_sign_of_a_slow_machine(good: CheckContext) -> None:
    """Dropped early: the scenario asks for it. A full queue on a link that nobody overbooks: the machine's doing."""

    def reasons(**fields: int) -> tuple[str, ...]:
        def change(event: ShapingMeasured) -> dict[str, int]:
            return fields if (event.link, event.direction) == ("h1-s1", "down") else {}

        changed = with_events(good, change, "ShapingMeasured", 1)
        history = [record for record in changed.history if record.name != "NodeStarted"]
        return tuple(
            line for line in judge_fidelity(CheckContext(good.plan, history)).evidence if line.startswith("h1-s1 down")
        )

    assert reasons(early=7) == ()
    assert reasons(drops=7) == ("h1-s1 down: the shaper's queue dropped 7 frames, and no fault asked for that",)

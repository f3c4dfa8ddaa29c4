"""Which losses of a lossless class faults explain: those behind a hit of the same link, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.checkers.context import CheckContext
from testbed.checkers.pfc import pfc_lossless
from testbed.checkers.pfc_losses import explain_losses
from testbed.faults.events import FaultStruck
from testbed.history import make_record
from testbed.history.pfc_events import PfcDropped
from testbed.history.verdict import Verdict
from testbed.hunt.judge import Machines, run_and_judge
from testbed.plan import make_plan
from testbed.scenario import load_scenario

_LOSS = PfcDropped("h1-s1", "up", 3, 1100, 5000, 700)
_HELD = "faults=[{kind: reorder, links: [h2-leaf1], direction: %s, rate: 50%%, delay: 3ms}]"


def hit(kind: str, direction: str, opcode: int = -1, packet: str = "", link: str = "h1-s1") -> FaultStruck:
    return FaultStruck(f"the-{kind}", kind, "virtual", link, direction, "", opcode, 0, 1, packet)


def context(*events: tuple[int, Any]) -> CheckContext:
    plan = make_plan(load_scenario("pfc-netreduce"))
    return CheckContext(plan, tuple(make_record(t, "s1", event) for t, event in events))


@pytest.mark.parametrize(
    ("event", "explains"),
    [
        (hit("reorder", "up", opcode=6), True),  # the packet comes after the pause began
        (hit("delay", "up", opcode=6), True),
        (hit("duplicate", "up", opcode=6), True),
        (hit("loss", "up", opcode=6), False),  # fewer packets need no headroom
        (hit("loss", "down"), True),  # XOFF is lost
        (hit("reorder", "down"), True),  # XOFF is late
        (hit("delay", "down", opcode=11), True),  # XOFF waits behind the packet
        (hit("reorder", "down", opcode=17), False),  # an ACK asks for no pause
        (hit("reorder", "down", packet="data 10.77.0.2>10.77.0.9 job 1 packet 17"), False),
        (hit("reorder", "down", link="h2-s1"), False),  # another link
    ],
)
def test_a_fault_explains_what_it_can_cause(event: FaultStruck, explains: bool) -> None:
    found = explain_losses(context((1_000, event), (2_000, _LOSS)))
    assert found.unexplained == (0 if explains else 1)
    assert found.faults == ((event.fault,) if explains else ())


def test_a_later_hit_explains_nothing() -> None:
    assert explain_losses(context((1_000, _LOSS), (2_000, hit("reorder", "up")))).unexplained == 1


def test_the_verdict_names_the_faults_and_stays_a_failure() -> None:
    found = pfc_lossless(context((1, _LOSS), (2, hit("reorder", "up")), (3, _LOSS)))
    assert found.verdict is Verdict.FAIL
    assert found.detail.endswith("; explained by faults of these links (1 of them): the-reorder")
    assert "explained" not in pfc_lossless(context((1, _LOSS))).detail


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_hunt_excuses_late_frames_but_no_short_headroom(direction: str) -> None:
    """Frames of h2 that come late overrun the headroom, and so does a late XOFF. With too little headroom and no fault,
    the same hunt fails."""
    small = ["job.size=24B", "time_limit=200ms"]
    late = load_scenario("pfc-victim", [*small, _HELD % direction])
    failure, history = run_and_judge(late, Machines())
    assert any(isinstance(record.event, PfcDropped) for record in history)
    assert failure is None
    short, _ = run_and_judge(load_scenario("pfc-victim", [*small, "pfc.headroom=2000B"]), Machines())
    assert short is not None
    assert short.check == "pfc_lossless"

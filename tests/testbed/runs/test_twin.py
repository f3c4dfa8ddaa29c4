"""The twin of an emulated run, in virtual time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from testbed.checkers import CheckContext
from testbed.checkers.twins import Figures
from testbed.figures.metrics import figures_of, metrics
from testbed.history import sort_history
from testbed.plan import make_plan
from testbed.runs import twin as module
from testbed.runs.twin import make_twin, run_twins, why_no_judge
from testbed.scenario import load_scenario
from testbed.worlds.base import RunFacts
from testbed.worlds.simulated.world import simulate

SMALL = ["job.size=40kB"]
NOBODY = Figures({}, None)


def plan_of(name: str, *changes: str):
    return make_plan(load_scenario(name, changes))


def test_its_figures_are_those_of_the_same_plan_in_virtual_time() -> None:
    plan = plan_of("data-middle-lost")
    own = figures_of(metrics(CheckContext(plan, sort_history(simulate(plan)))))
    found = make_twin(plan, own, 60, RunFacts())
    assert found.runs[0] == own
    assert (found.by_identity, found.left_out, found.fails) == (True, "", False)
    assert own.resent == 4
    # Which frame is on its way when the NAK comes hangs on less than a wake-up.
    assert {run.resent for run in found.runs} == {4, 5}
    assert make_twin(plan_of("rack", *SMALL), NOBODY, 60, RunFacts()).runs[1:] == ()


def test_under_chance_there_are_five_that_start_a_little_later() -> None:
    plan, told = plan_of("rack-lossy", *SMALL), []
    own = figures_of(metrics(CheckContext(plan, sort_history(simulate(plan)))))
    run_twins(plan, own, told.append)
    assert len(told) == 5
    assert len({run.seconds["JCT"] for run in told}) > 1
    assert make_twin(plan, own, 60, RunFacts()).runs == tuple(told)


def test_frames_that_come_at_one_instant_come_one_after_the_other_in_the_others() -> None:
    """All frames take as long, and their senders wait for each other: with no lateness at all a NAK always finds the
    link as it does here, and 62 packets are sent again. Between namespaces it was 59 and 22."""
    plan = replace(plan_of("spine-leaf-first-lost"), scenario=load_scenario("spine-leaf-first-lost", ["dilation=142"]))
    drawn = [module._figures(plan, random.Random(number)) for number in range(8)]
    assert module._figures(plan, None).resent == 62
    assert len({found.resent for found in drawn}) > 2


@pytest.mark.parametrize(("dilation", "most_ns"), [(1, 4_328), (1_000, 1_000)])
def test_a_frame_comes_later_by_a_part_of_its_time_and_less_than_a_wake_up(dilation: int, most_ns: int) -> None:
    """A frame of 1,082 bytes takes 216.4 us at 40 Mb/s."""
    plan = plan_of("spine-leaf", "topology.link.rate=40Mbps", "topology.link.delay=1ms", f"dilation={dilation}")
    dice = random.Random(1)
    shapes = [
        link.shape
        for _ in range(20)
        for link in module._uneven(plan, 1_000_000 // dilation, dice).scenario.topology.links
    ]
    latest = {shape.delay_ns + shape.jitter_ns - 1_000_000 for shape in shapes}
    assert 0.8 * most_ns < max(latest) <= most_ns
    assert {shape.delay_ns - shape.jitter_ns for shape in shapes} == {1_000_000}, "never earlier"


@pytest.mark.parametrize(("inside", "made"), [(None, 25), (0, 5), (3, 5), (8, 9)])
def test_a_run_that_is_outside_the_range_of_five_is_held_beside_more(
    inside: int | None, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`inside`: the draw that takes as long as the run."""
    drawn = iter(range(1_000))
    monkeypatch.setattr(
        module, "_figures", lambda *_: Figures({"JCT": 2.0 if next(drawn) == inside else 1.0}, resent=9)
    )
    told = list[Figures]()
    run_twins(plan_of("rack-lossy", *SMALL), Figures({"JCT": 2.0}, 9), told.append)
    assert len(told) == made


def test_one_that_takes_longer_than_the_run_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_BUDGET_S", 0.0)
    found = make_twin(plan_of("rack"), NOBODY, 0.0, RunFacts())
    assert found.fails
    assert found.left_out == "the reference run in virtual time did not end within 0 s, as long as the run took"


@pytest.mark.parametrize(("ended", "judges"), [(2, False), (3, True)])
def test_when_the_time_is_over_three_of_several_judge(
    ended: int, judges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = Figures({"JCT": 1.0}, 0)

    def slow(plan: object, own: object, tell: Callable[[Figures], None], keep: object) -> None:
        for _ in range(ended):
            tell(figures)
        time.sleep(60)

    monkeypatch.setattr(module, "LEAST_BUDGET_S", 0.5)
    monkeypatch.setattr(module, "run_twins", slow)
    found = make_twin(plan_of("rack", *SMALL), NOBODY, 0.5, RunFacts())
    assert found.runs == (figures,) * ended
    assert (found.left_out == "", found.fails) == (judges, not judges)


def test_one_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(module, "run_twins", broken)
    found = make_twin(plan_of("rack", *SMALL), NOBODY, 60, RunFacts())
    assert (found.fails, found.left_out) == (True, "the reference run in virtual time failed")


def test_where_virtual_time_is_no_judge() -> None:
    assert why_no_judge(plan_of("rack")) == ""
    assert (
        why_no_judge(plan_of("rack"), "loss on h1-s1 up: netem")
        == "no reference run: netem makes its own random choices"
    )
    tcp = plan_of("rack", "background=[{name: bulk, kind: tcp, from: h1, to: h2}]")
    assert why_no_judge(tcp) == "no reference run: the kernel's TCP (bulk) runs in real time only"
    plan = plan_of("rack")
    verbs = replace(plan, scenario=replace(plan.scenario, nics=(("h2", "mlx5_0"),)))
    assert why_no_judge(verbs) == "no reference run: h2 is on the RDMA device mlx5_0, which virtual time does not have"
    own = replace(plan, scenario=replace(plan.scenario, switch=replace(plan.scenario.switch, program="my.py:Mine")))
    assert why_no_judge(own) == "no reference run: the switch runs a program of your own"
    assert make_twin(tcp, NOBODY, 60, RunFacts()).left_out.startswith("no reference run:")

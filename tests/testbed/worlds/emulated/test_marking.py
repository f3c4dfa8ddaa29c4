"""What ports know about the links behind them is what the kernel keeps, not what the scenario asks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

import switch_nodes.dataplane
from switch_nodes.dataplane import ModelledQueue
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from testbed.worlds.emulated import marking, programs
from testbed.worlds.emulated.dilation import clock_of, kernel_shape
from testbed.worlds.emulated.node import NodeTask

RATE_BPS, DILATION = 1_000_000, 30
"""the kernel keeps 33,328 bit/s of 33,333 in real time, which is 999,840 bit/s in emulated time"""
KEPT_BPS = 999_840
FRAME = 1_000
SECOND_NS = 10**9


def scenario_of(dilation: int, *settings: str) -> Scenario:
    wanted = ["topology.link.rate=1Mbps", "topology.link.ecn_threshold=3", "job.size=8kB", *settings]
    return replace(load_scenario("ring", wanted, 1, "emulated"), dilation=dilation)


def test_the_kernel_keeps_less_than_the_scenario_asks_for() -> None:
    shape = kernel_shape(clock_of(scenario_of(DILATION)), RATE_BPS, 1500, exact=True)
    assert shape.emulated_bps == KEPT_BPS


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> list[ModelledQueue]:
    """Each queue that is made; before it, its rates as (from when, bit/s)."""
    made: list[Any] = []

    class Seen(ModelledQueue):
        def __init__(self, rates: Any, *args: Any, **keys: Any) -> None:
            made.append([(at, rate) for at, rate, _ in rates])
            super().__init__(rates, *args, **keys)

    monkeypatch.setattr(marking, "ModelledQueue", Seen)
    return made


@pytest.mark.parametrize(("dilation", "rate_bps"), [(1, RATE_BPS), (DILATION, KEPT_BPS)])
@pytest.mark.parametrize("exact", [False, True])
def test_a_queue_empties_at_the_rate_of_the_kernel(
    queues: list[Any], dilation: int, rate_bps: int, exact: bool
) -> None:
    marking.make_marking(scenario_of(dilation), "s1", lambda now, event: None, exact=exact)
    assert queues
    assert all(rates == [(0, rate_bps)] for rates in queues)


@pytest.mark.parametrize(("dilation", "rate_bps"), [(1, RATE_BPS), (DILATION, KEPT_BPS)])
def test_frames_come_in_at_the_rate_of_the_kernel(dilation: int, rate_bps: int) -> None:
    wire = marking.make_wires(scenario_of(dilation), "s1")[0]
    assert wire.carry(FRAME, 0) == FRAME * 8 * SECOND_NS // rate_bps


def test_a_changed_rate_is_the_kernels_as_well(queues: list[Any]) -> None:
    fault = "faults=[{kind: rate_change, name: slow, links: [h1-s1], rate: 1Mbps, from: 1s, until: 2s}]"
    scenario = scenario_of(DILATION, fault, "topology.link.rate=2Mbps")
    marking.make_marking(scenario, "s1", lambda now, event: None, exact=True)
    before = kernel_shape(clock_of(scenario), 2 * RATE_BPS, 1500, exact=True).emulated_bps
    assert queues[0] == [(0, before), (SECOND_NS, KEPT_BPS), (2 * SECOND_NS, before)]


class _StoppedError(Exception):
    pass


@pytest.mark.parametrize(
    ("dilation", "changed", "rate_bps"),
    [(1, "500kbps", RATE_BPS), (DILATION, "500kbps", KEPT_BPS), (1, "3Mbps", 3 * RATE_BPS)],
)
def test_a_nic_sends_at_the_highest_rate_that_the_kernel_keeps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dilation: int, changed: str, rate_bps: int
) -> None:
    paced: list[int] = []
    polled: list[int] = []

    def pacer(rate: int, burst: int, ahead: int) -> None:
        paced.append(rate)
        raise _StoppedError

    def ends(flows: Any, host: str, start_ns: int = 0, *, timeout_ns: int) -> tuple[tuple[()], tuple[()]]:
        polled.append(timeout_ns)
        return (), ()

    monkeypatch.setattr(switch_nodes.dataplane, "Pacer", pacer)
    monkeypatch.setattr(programs, "udp_ends", ends)
    fault = f"faults=[{{kind: rate_change, name: slow, links: [h1-s1], rate: {changed}, from: 1s, until: 2s}}]"
    plan = make_plan(scenario_of(dilation, fault))
    task = NodeTask(plan, plan.scenario.topology.node("h1"), ("eth0",), tmp_path)
    with pytest.raises(_StoppedError):
        programs.build_node(task, MagicMock())
    assert paced == [rate_bps]
    assert polled == [1_000_000 // dilation], "a source wakes up at most a thousand times in a second of the machine"

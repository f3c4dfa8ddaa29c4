"""Rules of priority: larger is more urgent, 16 steps per doubling, 8 bits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.scenario.protocols.names import PRIORITIES as NAMED
from workloads.atp.config import AtpConfig
from workloads.atp.pressure import Pressure
from workloads.config import JobShare, WorkloadConfig
from workloads.datagrams.priority import (
    LEAST_X0,
    MOST_X0,
    PRIORITIES,
    Outlook,
    PriorityRule,
    priority_of,
    quantise,
    register_priority,
)
from workloads.errors import ScenarioError
from workloads.gradients import create_source
from workloads.layers import ComputeConfig, LayerConfig
from workloads.wire import Envelope

OUTLOOK = Outlook(
    layer=3, layers=8, communication_ns=400, computation_ns=100, remaining_bytes=1 << 22, served_bytes=1 << 20
)


def test_the_scale_has_sixteen_steps_per_doubling() -> None:
    assert [quantise(x, 1.0) for x in (0, 1, 3, 7, 15)] == [0, 16, 32, 48, 64]
    assert quantise(0.5, 0.5) == 16
    assert quantise(1e12, 1.0) == 255


@pytest.mark.parametrize("x0", [5e-324, LEAST_X0, MOST_X0])
@pytest.mark.parametrize("name", PRIORITIES)
def test_no_x0_is_too_small_or_too_large(name: str, x0: float) -> None:
    """An hour of communication beside 1 ns of computing, and the other way round; nothing left, and exabytes."""
    for long, short, left in ((3_600_000_000_000, 0, 0), (1, 3_600_000_000_000, 1 << 60)):
        extreme = Outlook(0, 4096, long, short, left, left)
        assert 0 <= priority_of(name, x0)(extreme) <= 255


@pytest.mark.parametrize(
    ("name", "priority"),
    [("equal", 0), ("layer", 41), ("comm", 37), ("srpt", 37), ("las", 65), ("esa-default", 0x20 | 41 >> 4)],
)
def test_rules(name: str, priority: int) -> None:
    assert priority_of(name)(OUTLOOK) == priority


@pytest.mark.parametrize(
    ("name", "more_urgent"),
    [
        ("layer", {"layer": 0}),
        ("comm", {"communication_ns": 1000}),
        ("srpt", {"remaining_bytes": 1 << 21}),
        ("las", {"served_bytes": 1 << 19}),
        ("esa-default", {"communication_ns": 1000, "layer": 7}),
        ("esa-default", {"layer": 0}),
    ],
)
def test_what_is_more_urgent(name: str, more_urgent: dict[str, int]) -> None:
    rule = priority_of(name)
    assert rule(replace(OUTLOOK, **more_urgent)) > rule(OUTLOOK)


def test_before_anything_is_known_communication_counts_like_computation() -> None:
    assert priority_of("comm")(replace(OUTLOOK, communication_ns=0)) == 16


def test_x0_moves_the_scale() -> None:
    assert priority_of("comm", 4.0)(OUTLOOK) == 16


def test_a_rule_of_ones_own_and_a_name_that_is_taken() -> None:
    with pytest.raises(ValueError, match="there is a priority rule comm already"):
        register_priority("comm", PRIORITIES["comm"])
    register_priority("of-this-test", PriorityRule(lambda outlook: float(outlook.layer), 3.0))
    try:
        assert priority_of("of-this-test")(OUTLOOK) == 16
    finally:
        del PRIORITIES["of-this-test"]


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(
        ScenarioError, match=r"there is no such rule of priority; found 'urgent'; allowed: equal, layer, comm"
    ):
        priority_of("urgent")


def test_a_scenario_may_name_exactly_these() -> None:
    assert set(NAMED) == set(PRIORITIES)


def pressure(priority: str, kind: str = "esa") -> Pressure:
    compute = ComputeConfig((LayerConfig(10, 100, 200), LayerConfig(20, 300, 400)))
    config = AtpConfig(
        "h1", JobShare(kind, 1, 0, 2), WorkloadConfig("synthetic", 3, 30, 4, compute=compute),
        Envelope(bytes(6), bytes(6), bytes(4), bytes(4)), elements=8, priority=priority,
    )  # fmt: skip
    return Pressure(config, create_source(config.workload, 0, 2, "float32"))


def test_a_packet_has_the_layer_of_its_first_element() -> None:
    """30 elements in packets of 8: the last layer of the model is the first 20 elements."""
    one, two = quantise(1, 1.0), quantise(2, 1.0)
    assert [pressure("layer").priority(packet) for packet in range(6)] == [one, one, one, two, two, two]


def test_times_and_bytes_are_those_of_the_iterations() -> None:
    found = pressure("comm")
    found.start(1_000)
    assert found.priority(0) == 16
    found.complete(5_000)
    found.start(6_000)
    assert found.priority(0) == quantise(4_000 / 1_000, 1.0), "all layers together take 1000 ns"
    las = pressure("las")
    las.start(0)
    assert las.priority(0) == 255
    las.complete(10)
    las.start(20)
    assert las.priority(0) == quantise(1 / 120, 1 / (1 << 24))


def test_atp_has_none() -> None:
    assert pressure("las", "atp").priority(0) == 0


@pytest.mark.parametrize(
    ("name", "nothing"),
    [("comm", {"communication_ns": 1, "computation_ns": 0}), ("srpt", {"remaining_bytes": 0}),
        ("las", {"served_bytes": 0})],
)  # fmt: skip
def test_nothing_counts_like_the_least_there_can_be(name: str, nothing: dict[str, int]) -> None:
    assert priority_of(name, 1.0)(replace(OUTLOOK, **nothing)) == quantise(1, 1.0)

"""Figures of flows: what is measured, percentiles with flows that never end, bins, loads."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.metrics import metrics
from testbed.protocols.flows.figures import FlowTime, _binned, _statistics, flow_figures, flow_times
from testbed.report.flow_times import flow_lines
from tests.support.flow_runs import run_text
from workloads.flows.events import FlowArrived, FlowBegan

TEXT = """
name: random
world: simulated
topology: {kind: rack, hosts: 4, link: {rate: 10Gbps, delay: 2us}}
switch: {program: forward}
transport: {TRANSPORT}
job: {protocol: flows, load: 0.5, sizes: storage, duration: 400us, warm_up: 100us, cool_down: 50us, MORE}
time_limit: 1s
"""


def run(transport: str = "recovery: gbn", more: str = "") -> CheckContext:
    return run_text(TEXT.replace("TRANSPORT", transport).replace(", MORE", more))


@pytest.fixture(scope="module")
def context() -> CheckContext:
    return run()


def times(*found: tuple[int, int | None]) -> list[FlowTime]:
    return [FlowTime(number, size, Fraction(10), fct) for number, (size, fct) in enumerate(found)]


def test_percentiles_are_nearest_ranks() -> None:
    found: Any = _statistics(times(*((1, 10 * (number + 1)) for number in range(1000))))
    assert found["slowdown"] == {"average": 500.5, "p50": 500, "p95": 950, "p99": 990, "p999": 999}
    assert found["fct_s"]["p999"] == pytest.approx(9990e-9)
    assert (found["number"], found["without_end"]) == (1000, 0)


def test_a_flow_without_an_end_is_slower_than_all_others() -> None:
    found: Any = _statistics(times(*((1, 10) for _ in range(98)), (1, None), (1, None)))
    assert found["without_end"] == 2
    assert found["slowdown"] == {"average": None, "p50": 1, "p95": 1, "p99": None, "p999": None}


def test_every_size_is_in_one_bin() -> None:
    sizes = [1, 1000, 1001, 10_000, 10_001, 100_000, 100_001, 1_000_000, 1_000_001, 10**9]
    bins = {name: [each.size for each in inside] for name, inside in _binned(times(*((size, 1) for size in sizes)))}
    assert list(bins.values()) == [sizes[2 * place : 2 * place + 2] for place in range(5)]


def test_flows_that_begin_in_the_measured_time_count(context: CheckContext) -> None:
    begins = {record.event.flow: record.t for record in context.events(FlowBegan)}
    measured = {number for number, at in begins.items() if 100_000 <= at < 350_000}
    assert {each.number for each in flow_times(context)} == measured
    assert 0 < len(measured) < len(begins)


def test_fct_is_from_post_to_last_byte(context: CheckContext) -> None:
    begins = {record.event.flow: record.t for record in context.events(FlowBegan)}
    ends = {record.event.flow: record.t for record in context.events(FlowArrived)}
    for each in flow_times(context):
        assert each.fct_ns == ends[each.number] - begins[each.number]
        assert each.slowdown is not None
        assert each.slowdown > 0.999


def test_loads_are_those_of_frames_and_payload(context: CheckContext) -> None:
    found: Any = flow_figures(context)
    bytes_sent = sum(end.size for worker in context.plan.workers for end in worker.outgoing)  # type: ignore[attr-defined]
    assert found["payload_load"] == pytest.approx(bytes_sent * 8 / (4 * 10e9 * 400e-6))
    assert 1.05 < found["wire_load"] / found["payload_load"] < 1.12
    assert (found["planned"], found["unfinished"]) == (found["begun"], 0)


@pytest.mark.parametrize("transport", ["recovery: irn", "congestion_control: dcqcn"])
def test_the_same_flows_are_drawn_for_all_transports(context: CheckContext, transport: str) -> None:
    def flows(found: CheckContext) -> list[object]:
        return [(record.t, record.node, record.event) for record in found.events(FlowBegan)]

    assert flows(run(transport)) == flows(context)


def test_hosts_that_stop_leave_flows_without_an_end() -> None:
    context = run(more=", drain: 0s")
    found: Any = flow_figures(context)
    ended = context.events(FlowArrived)
    assert max(record.t for record in ended) <= 400_000
    assert 0 < found["unfinished"] == found["begun"] - len(ended)


def test_metrics_and_summary_show_them(context: CheckContext) -> None:
    found = metrics(context)
    assert found["rdma_flows"] == flow_figures(context)
    assert found["goodput_bps"] is None
    assert found["jct_s"] > 0
    lines = [f"{' ' * line.indent}{line.label.ljust(line.label_width)}{line.text}" for line in flow_lines(found)]
    assert lines[1] == "Flows"
    assert max(map(len, lines)) <= 80
    assert [line.split("  ")[1] for line in lines[5:7]] == ["FCT, all", "slowdown"]

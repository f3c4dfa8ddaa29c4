"""Loads between two samples, beside the plan's."""

from __future__ import annotations

import pytest

from testbed.figures.routes import measured, spans_of
from testbed.history import Record
from tests.support.records import a_record
from topologies import LinkShape, grid_triangle
from topologies.routing.gradients import Problem, assigned_plan

TOPOLOGY = grid_triangle(LinkShape())
SECOND = 10**9


def sample(switch: str, at_ns: int, bytes_in: dict[str, int], bytes_out: dict[str, int], added: int) -> Record:
    ports = {link.name: port for port, link, _ in TOPOLOGY.ports(switch)}
    rows = [[0] * len(ports), [0] * len(ports)]
    for row, given in zip(rows, (bytes_in, bytes_out), strict=True):
        for name, size in given.items():
            row[ports[name]] = size
    return a_record(at_ns, switch, "LoadSampled", at_ns=at_ns, bytes_in=rows[0], bytes_out=rows[1], added_bytes=added,
        data_in=8 * added, bypassed=added)  # fmt: skip


def history() -> list[Record]:
    """Bytes grow by 1000, 2000, ... per second."""
    return [
        sample("s1", second * SECOND, {"w1-s1": 1_000 * second}, {}, 3_000 * second)
        for second in range(5)
    ] + [
        sample("s3", second * SECOND, {"s1-s3": 2_000 * second}, {"ps-s3": 4_000 * second}, 0)
        for second in range(5)
    ]  # fmt: skip


def test_rates_are_counted_at_receivers_and_towards_hosts_at_senders() -> None:
    problem = Problem.of(TOPOLOGY, ("ps",), {"s1": 9e7}, ("w1",))
    plan = assigned_plan(problem, {("w1", "ps"): "s1"}, {"ps": 8_000.0})
    found = {load.name: load.measured_bps for load in measured(plan, history(), SECOND, 3 * SECOND)}
    assert found == {"w1": 8_000.0, "s1->s3": 16_000.0, "s3->ps": 32_000.0, "s1": 24_000.0}
    assert {load.name: load.ratio for load in measured(plan, history(), SECOND, 3 * SECOND)}["s3->ps"] == 4.0


def test_a_span_is_from_the_first_to_the_last_sample_in_the_time() -> None:
    span = spans_of(history(), SECOND - 1, 4 * SECOND - 1)["s1"]
    assert (span.taken_ns, span.added_bytes, span.data_in, span.bypassed) == (2 * SECOND, 6_000, 48_000, 6_000)


def test_one_sample_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="not sampled twice"):
        spans_of(history(), SECOND, SECOND)

"""Routes of a plan, frame by frame, and as rules of a commodity switch: both lead the same way."""

from __future__ import annotations

from itertools import product

import pytest

from switch_nodes.grid.routes import RouteTable
from switch_nodes.routes.layout import PlannedRoute
from switch_nodes.routes.rules import flow_rules
from switch_nodes.steering.table import FlowTable, fields_of
from tests.support.grid_star import ip
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, Policy, encode_datagram

ROUTES = (
    PlannedRoute("any-2", ip(2), (5,)),
    PlannedRoute("0-2", ip(2), (4,), ip(0)),
    PlannedRoute("all", ip(3), (1, 2, 3)),
)


def frame(source: int, goal: int, dport: int = AGGREGATION_PORT) -> bytes:
    header = AggregationHeader(Policy.GRID, 0, 7, 1, 0, 1, 1)
    return encode_datagram(Envelope(bytes(6), bytes(6), ip(source), ip(goal)), dport, header, b"")


def test_the_route_of_a_source_is_before_that_of_all() -> None:
    table = RouteTable(ROUTES)
    assert table.find(frame(0, 2)) == (4,)
    assert table.find(frame(1, 2)) == (5,)
    assert table.find(frame(1, 3)) == (1, 2, 3)
    assert table.find(frame(1, 4)) is None


@pytest.mark.parametrize(
    "other", [frame(0, 2, dport=4791), frame(0, 2)[:40], b"\0" * 60, frame(0, 2)[:12] + b"\x86\xdd" + bytes(60)]
)
def test_other_traffic_has_no_route(other: bytes) -> None:
    assert RouteTable(ROUTES).find(other) is None


def test_flow_rules_lead_the_same_way() -> None:
    table, flows = RouteTable(ROUTES), FlowTable(flow_rules(ROUTES))
    for source, goal in product(range(5), range(5)):
        found = flows.find(fields_of(0, frame(source, goal)))
        assert (found.outputs if found else None) == table.find(frame(source, goal))


def test_a_dump_does_not_depend_on_the_order_of_the_plan() -> None:
    assert flow_rules(ROUTES) == flow_rules(ROUTES[::-1])

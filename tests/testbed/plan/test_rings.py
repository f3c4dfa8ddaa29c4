from __future__ import annotations

from testbed.plan import make_plan
from testbed.plan.rings import planned_rings
from testbed.scenario.model import Scenario
from topologies import LinkShape, rack


def test_a_rack_is_one_ring_whatever_the_order_of_its_workers() -> None:
    plan = make_plan(Scenario("t", rack(3, LinkShape()), LinkShape()))
    (ring,) = planned_rings(reversed(plan.workers))
    assert (ring.names, ring.phase, ring.members) == (("h1", "h2", "h3"), "", plan.workers)
    assert [(ring.requests(rank), ring.answers(rank)) for rank in range(3)] == [
        (connection.requests, connection.answers) for connection in plan.connections
    ]

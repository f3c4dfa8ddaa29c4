"""A plan as JSON, and back to the equal value."""

from __future__ import annotations

from typing import Any

from topologies.graph import Link, LinkShape, Node, Role, Topology
from topologies.routing.gradients.plan import Merge, Route, RoutingPlan, Stream
from topologies.routing.gradients.problem import Problem

__all__ = ["SCHEMA", "plan_from_document", "plan_to_document"]

SCHEMA = 1
"""raised whenever a reader of the old form would misread the new one"""


def plan_to_document(plan: RoutingPlan) -> dict[str, Any]:
    """What `json.dumps` takes. Rates and capacities in bits per second; `loads` and `min_rate_bps` are for readers:
    they follow from the rest, and loading leaves them alone."""
    problem = plan.problem
    return {
        "schema": SCHEMA,
        "planner": plan.planner,
        "note": plan.note,
        "min_rate_bps": plan.min_rate_bps,
        "bound_bps": None if plan.bound_bps == float("inf") else plan.bound_bps,
        "binds": list(plan.binds),
        "worker_rate_bps": plan.worker_rates,
        "loads": [
            {"name": load.name, "link": load.link, "load_bps": load.load_bps, "capacity_bps": load.capacity_bps}
            for load in (*plan.link_loads, *plan.switch_loads)
        ],
        "streams": [
            {"worker": s.worker, "server": s.server, "node": s.node, "rate_bps": s.rate_bps, "routes": _routes(s)}
            for s in plan.streams
        ],
        "merges": [
            {
                "switch": merge.switch,
                "server": merge.server,
                "rate_bps": merge.rate_bps,
                "fan_in": list(plan.fan_in[merge.switch, merge.server]),
                "routes": _routes(merge),
            }
            for merge in plan.merges
        ],
        "problem": {
            "workers": list(problem.workers),
            "servers": list(problem.servers),
            "capacity_bps": dict(problem.capacities),
            "demand_bps": problem.demand_bps,
            "topology": _topology(problem.topology),
        },
    }


def plan_from_document(document: object) -> RoutingPlan:
    """Raises ValueError for what is no plan, or one of another schema. It may be a plan that does not hold:
    `violations`."""
    if not isinstance(document, dict) or "schema" not in document:
        raise ValueError("not a plan")
    if document["schema"] != SCHEMA:
        raise ValueError(f"schema {document['schema']!r}, not {SCHEMA}")
    try:
        asked = document["problem"]
        problem = Problem(
            _load_topology(asked["topology"]),
            tuple(asked["workers"]),
            tuple(asked["servers"]),
            tuple((name, float(capacity)) for name, capacity in asked["capacity_bps"].items()),
            float(asked["demand_bps"]),
        )
        bound = document["bound_bps"]
        return RoutingPlan(
            problem,
            document["planner"],
            tuple(Stream(s["worker"], s["server"], s["node"], _load_routes(s)) for s in document["streams"]),
            tuple(Merge(m["switch"], m["server"], _load_routes(m)) for m in document["merges"]),
            float("inf") if bound is None else float(bound),
            tuple(document["binds"]),
            document["note"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a plan: {type(error).__name__} {error}") from error


def _routes(part: Stream | Merge) -> list[dict[str, Any]]:
    return [
        {"nodes": list(route.nodes), "links": list(route.links), "rate_bps": route.rate_bps} for route in part.routes
    ]


def _load_routes(part: dict[str, Any]) -> tuple[Route, ...]:
    return tuple(Route(tuple(r["nodes"]), tuple(r["links"]), float(r["rate_bps"])) for r in part["routes"])


def _topology(topology: Topology) -> dict[str, Any]:
    return {
        "kind": topology.kind,
        "nodes": [
            {"name": n.name, "role": str(n.role), "mac": n.mac.hex(), "ip": n.ip.hex(), "part": n.part}
            for n in topology.nodes
        ],
        "links": [
            {"name": e.name, "ends": [e.a, e.b], "ports": [e.a_port, e.b_port], "shape": _shape(e.shape)}
            for e in topology.links
        ],
    }


def _shape(shape: LinkShape) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in LinkShape.__dataclass_fields__}


def _load_topology(data: dict[str, Any]) -> Topology:
    nodes = (
        Node(n["name"], Role(n["role"]), bytes.fromhex(n["mac"]), bytes.fromhex(n["ip"]), n["part"])
        for n in data["nodes"]
    )
    links = (
        Link(e["name"], e["ends"][0], e["ports"][0], e["ends"][1], e["ports"][1], LinkShape(**e["shape"]))
        for e in data["links"]
    )
    return Topology(data["kind"], tuple(nodes), tuple(links))

"""The filters of one switch, made of a plan: which faults, delays and jitter act at which of its ports."""

from __future__ import annotations

from testbed.faults.link_filter import LinkFilter
from testbed.faults.matching import ConnectionTable
from testbed.faults.model import PacketFault
from testbed.faults.way import LinkWay
from testbed.plan import Plan
from testbed.plan.commodity import openflow_switches
from testbed.scenario.transports import transports_of
from topologies import Direction, Link
from workloads.errors import InternalError

__all__ = ["make_filters"]


def make_filters(plan: Plan, switch: str, backend: str = "user") -> tuple[dict[int, LinkFilter], dict[int, LinkFilter]]:
    """The filters of one switch: ingress and egress by port, only where there is a fault, delay or jitter.

    A link direction is served once, at its receiving end where that is a switch, else at its sending one. Raises
    InternalError when a fault asks for messages and the plan does not say where they begin."""
    table = ConnectionTable(plan.connections)
    switches = {config.name for config in plan.switches} - openflow_switches(plan)
    ingress: dict[int, LinkFilter] = {}
    egress: dict[int, LinkFilter] = {}
    for port, link, entering in plan.scenario.topology.ports(switch):
        leaving = Direction.DOWN if entering is Direction.UP else Direction.UP
        far = link.a if link.b == switch else link.b
        served = [(ingress, entering)] if far in switches else [(ingress, entering), (egress, leaving)]
        for side, direction in served:
            # Wires of a network with PFC delay frames themselves on their way to a host, behind the queue.
            delay_ns = 0 if side is egress and plan.scenario.pfc is not None else link.shape.delay_ns
            found = _make_filter(plan, link, direction, table, backend, delay_ns)
            if found is not None:
                side[port] = found
    return ingress, egress


def _make_filter(
    plan: Plan, link: Link, direction: Direction, table: ConnectionTable, backend: str, delay_ns: int
) -> LinkFilter | None:
    faults = [
        fault
        for fault in plan.scenario.faults
        if isinstance(fault, PacketFault) and link.name in fault.links and direction in fault.directions
    ]
    if not faults and not delay_ns and not link.shape.jitter_ns:
        return None
    for fault in faults:
        _need_messages(fault, plan)
    return LinkFilter(
        LinkWay(plan.scenario.seed, link.name, direction, table, transports_of(plan.scenario)),
        faults,
        delay_ns=delay_ns,
        jitter_ns=link.shape.jitter_ns,
        backend=backend,
    )


def _need_messages(fault: PacketFault, plan: Plan) -> None:
    """Check that some connection carries messages, if a fault asks for messages.

    Some connections of a schedule carry no message: a host that only receives on a pair of queue pairs has both.
    """
    match = fault.match
    if not plan.scenario.job.size_bytes:  # vectors without elements: it hits nothing
        return
    if (match.message is not None or match.packet not in (None, 0, -1)) and not any(
        connection.message_packets for connection in plan.connections
    ):
        raise InternalError(f"fault {fault.name} asks for messages, and the plan of the connections names none")

"""Whether a fault can apply to what a job sends: the rules for all protocols that have none of their own."""

from __future__ import annotations

from testbed.faults.base import PacketFault
from testbed.reading.known import as_far_as_known
from testbed.reading.problems import Problems
from testbed.scenario.checks.datagrams import check_datagram_fault
from testbed.scenario.checks.fault_checks import check_match
from testbed.scenario.geometry import Geometry, geometry_of
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport

__all__ = ["check_stock_fault"]


def check_stock_fault(
    problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None, *, reliable: bool
) -> None:
    """As `ScenarioProtocol.check_fault`. `reliable`: over RoCE connections; False: in datagrams."""
    path, _, fault = placed
    if not reliable:
        check_datagram_fault(problems, placed, job.protocol)
    elif isinstance(fault, PacketFault):
        sizes: Geometry | None = None
        with as_far_as_known():
            sizes = geometry_of(job, transport)
        check_match(problems, (*path, "match"), fault.match, ranks, job, transport, sizes)

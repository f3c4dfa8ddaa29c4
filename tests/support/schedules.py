"""Schedules of transfers, by the collective that has them: those that the protocols bind."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.protocols.parts.scheduled import ScheduledProtocol
from testbed.scenario.protocols.known import protocols
from workloads.collectives.operations import ALL_REDUCE
from workloads.collectives.pairs import Schedule

__all__ = ["SCHEDULES"]

SCHEDULES: Mapping[str, Schedule] = {
    protocol.name: protocol.schedules[ALL_REDUCE]
    for protocol in protocols()
    if isinstance(protocol, ScheduledProtocol) and ALL_REDUCE in protocol.schedules
}

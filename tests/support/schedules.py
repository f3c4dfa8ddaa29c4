"""Schedules of transfers, by the collective that has them: those that the protocols bind."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.protocols.parts.scheduled import ScheduledProtocol
from testbed.scenario.known import protocols
from workloads.collectives.pairs import Schedule

__all__ = ["SCHEDULES"]

SCHEDULES: Mapping[str, Schedule] = {
    protocol.name: protocol.schedule for protocol in protocols() if isinstance(protocol, ScheduledProtocol)
}

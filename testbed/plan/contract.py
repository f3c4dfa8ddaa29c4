"""What plans and figures ask of a protocol."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from testbed.scenario.checks.contract import ScenarioProtocol
from testbed.scenario.protocols.known import lacks_methods, protocol_of

if TYPE_CHECKING:
    from testbed.plan.model import Plan
    from testbed.scenario.model import Scenario

__all__ = ["PlannedProtocol", "planned_protocol"]


class PlannedProtocol(ScenarioProtocol):
    """The methods that say what runs on each node, and how fast it can be."""

    @abstractmethod
    def plan(self, scenario: Scenario) -> Plan:
        """The configuration of every node, without background traffic."""

    def bound(self, plan: Plan, link_bps: float) -> float:
        """Bound of the goodput, in bits of gradient per second and worker. `link_bps`: what the slowest link leaves,
        which is the bound of most protocols."""
        return link_bps

    def answers_at_once(self) -> bool:
        """Whether a datagram is acknowledged when it comes, whatever other workers sent."""
        return False

    def one_size(self) -> bool:
        """Whether hosts know how long the gradient of their job is, and take no other."""
        return False

    def record_share(self) -> float:
        """Bytes of records in memory, for each byte of gradient that a worker reduces."""
        return 0.6

    def why_bytes_depend_on_time(self, scenario: Scenario) -> str:
        """Why packets of one run may differ from those of another that was faster or slower. Empty: they may not."""
        return ""


def planned_protocol(protocol: str) -> PlannedProtocol:
    """By name. Raises as `protocol_of`, and ScenarioError for one that lacks these methods."""
    found = protocol_of(protocol)
    if not isinstance(found, PlannedProtocol):
        raise lacks_methods(found)
    return found

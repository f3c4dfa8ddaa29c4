"""What is looked up in the configurations of one plan again and again, made once: a plan of a thousand hosts would
else take quadratic time."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from switch_nodes.config import SwitchConfig

if TYPE_CHECKING:
    from testbed.plan.model import Plan

__all__ = ["SourceLookup", "SwitchLookup", "lookup_of", "sources_of"]

_MOST = 1024
_switches: OrderedDict[int, SwitchLookup] = OrderedDict()
"""by identity of the configuration, which they keep"""
_plans: OrderedDict[int, SourceLookup] = OrderedDict()


class SwitchLookup:
    def __init__(self, config: SwitchConfig) -> None:
        self.config = config
        self.groups = dict(config.groups)
        self.ports: dict[bytes, list[int]] = {}
        """by MAC address, where there is one way"""
        for mac, port in config.macs:
            self.ports.setdefault(mac, []).append(port)
        self.members = [frozenset(member.mac for member in job.members) for job in config.jobs]
        """MAC addresses, by job"""

    def port_to(self, mac: bytes) -> int:
        """One of several equal ones."""
        return self.ports[mac][-1] if mac in self.ports else self.groups[mac][0]


class SourceLookup:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.adds_up = bool(plan.servers) or any(job.leaves for switch in plan.switches for job in switch.jobs)
        """whether sums of several workers travel on"""
        self.job_of = {worker.name: worker.group for worker in plan.workers if self.adds_up}
        self.sums: dict[int, set[str]] = {}
        """names of the switches that add for a job"""
        for switch in plan.switches:
            for served in switch.jobs:
                if served.adds:
                    self.sums.setdefault(served.job, set()).add(switch.name)


def lookup_of(config: SwitchConfig) -> SwitchLookup:
    found = _switches.get(id(config))
    if found is None:
        found = _switches[id(config)] = SwitchLookup(config)
        if len(_switches) > _MOST:
            _switches.popitem(last=False)
    return found


def sources_of(plan: Plan) -> SourceLookup:
    found = _plans.get(id(plan))
    if found is None:
        found = _plans[id(plan)] = SourceLookup(plan)
        if len(_plans) > 2:
            _plans.popitem(last=False)
    return found

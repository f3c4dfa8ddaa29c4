"""What donors and the newcomer have in common: iterations, and what their frames are."""

from __future__ import annotations

import cython

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.problems import refuse
from workloads.datagrams.quick_host import QuickHost
from workloads.datagrams.training import Training
from workloads.repair.checks import problems_in_host
from workloads.repair.config import RepairConfig
from workloads.repair.stored import StoredSource
from workloads.wire.aggregation import Policy

if not cython.compiled:
    from workloads.wire.inspected import address_of

__all__ = ["RepairHost"]

_REPAIR = int(Policy.REPAIR)


class RepairHost(QuickHost):
    """Raises ScenarioError for a configuration that cannot be. A subclass may override what has no underscore."""

    def __init__(self, config: RepairConfig, *, start_ns: int = 0) -> None:
        refuse(problems_in_host(config), owner=f"host {config.name}")
        source, share = StoredSource(config), config.collective
        QuickHost.__init__(self, share, Training.of(config.workload, source, share.rank, start_ns))
        self._config, self._code, self._donors = config, config.share.code, config.share.d
        self._address = int.from_bytes(config.answers[0].src_ip, "big")
        self._found = Arrival()

    def take(self, port: int, frame: bytes, now: int) -> None:
        found = self._found
        if not self._is_readable(frame) or address_of(frame, True) != self._address:
            return
        found.read(frame)
        if found.policy != _REPAIR or found.job != self._job or found.fan_in != self._donors:
            self.reject("unexpected", f"kind {found.kind} of job {found.job}, policy {found.policy}")
        else:
            self.take_packet(found, now)

    def take_packet(self, found: Arrival, now: int) -> None:
        """Take a packet of our job."""
        raise NotImplementedError

"""What donors and the newcomer have in common: iterations, counters, and what their frames are."""

from __future__ import annotations

from workloads.datagrams.host import DatagramHost
from workloads.datagrams.problems import refuse
from workloads.datagrams.training import Training
from workloads.machine import Buffer
from workloads.repair.checks import problems_in_host
from workloads.repair.config import RepairConfig
from workloads.repair.stored import StoredSource
from workloads.wire.aggregation import Datagram, DatagramError, Policy, decode_datagram

__all__ = ["RepairHost"]


class RepairHost(DatagramHost):
    """Raises ScenarioError for a configuration that cannot be."""

    def __init__(self, config: RepairConfig, *, start_ns: int = 0) -> None:
        refuse(problems_in_host(config), owner=f"host {config.name}")
        source, rank = StoredSource(config), config.collective.rank
        super().__init__(config.collective.job, Training.of(config.workload, source, rank, start_ns))
        self._config, self._code = config, config.share.code
        self._first_block = 0
        """of the iteration that runs or comes next"""

    def _receive(self, frame: Buffer) -> Datagram | None:
        """A packet of our job; None: it is for others, or cannot be used, which is told."""
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._reject(error.reason, str(error))
            return None
        if found is None or found.dst_ip != self._config.answers[0].src_ip:
            return None
        header = found.header
        if (header.policy, header.job, header.fan_in0) != (Policy.REPAIR, self._job, self._config.share.d):
            self._reject("unexpected", f"kind {header.kind} of job {header.job}, policy {header.policy}")
            return None
        return found

"""One rank's workload on an RDMA device: a `WorkerMachine` whose endpoint is a device."""

from __future__ import annotations

from collections.abc import Callable

from workloads.config import WorkerConfig
from workloads.errors import ScenarioError
from workloads.gradients import GradientSource
from workloads.machine import Event
from workloads.verbs.endpoint import PeerNames, VerbsEndpoint
from workloads.verbs.libibverbs import VerbsNic
from workloads.verbs.names import VerbsNames
from workloads.verbs.nic import Nic
from workloads.worker import WorkerMachine

__all__ = ["VerbsWorker"]


class VerbsWorker:
    """Opens `device` (its IPv4 GID is that of the configuration's source address), makes both queue pairs, registers
    the receive ring and posts its receives. Then `connect`, once all ranks know each other's `names`; the first
    `handle_timer` starts the traffic, and each polls the completion queues. Nothing blocks.

    Raises HostCapabilityError (no device, no permission, no IPv4 GID, MTU too large) and ScenarioError as
    `WorkerMachine`.
    """

    def __init__(
        self,
        config: WorkerConfig,
        device: str,
        source: GradientSource,
        *,
        open_nic: Callable[[str, bytes], Nic] = VerbsNic,
    ) -> None:
        if config.phases:
            raise ScenarioError(
                "a device runs one ring",
                key="collective.kind",
                found=config.collective.kind,
                allowed="netreduce, ring, shift",
            )
        self._config = config
        self._nic = open_nic(device, config.to_successor.envelope.src_ip)
        try:
            self._endpoint = VerbsEndpoint(self._nic)
            self._machine = WorkerMachine(config, source, endpoint=self._endpoint)
        except BaseException:
            self._nic.close()
            raise
        region = self._endpoint.region_of(config.collective.rkey)
        self.names = VerbsNames(
            send_qpn=self._endpoint.real_qpn(config.to_successor.qpn),
            recv_qpn=self._endpoint.real_qpn(config.from_predecessor.qpn),
            base_va=region.address if region else 0,
            rkey=region.rkey if region else 0,
        )

    @property
    def finished(self) -> bool:
        return self._machine.finished

    @property
    def failed(self) -> bool:
        return self._machine.failed

    def connect(self, config: WorkerConfig) -> None:
        """`config`: the same as before, but with the true QPNs, keys and addresses. Raises HostCapabilityError when a
        peer cannot be reached."""
        planned, true = self._config.collective, config.collective
        offset = true.peer_base_va - planned.peer_base_va
        successor = PeerNames(config.to_successor.peer_qpn, true.peer_rkey, offset)
        self._endpoint.connect(self._config.to_successor.qpn, successor)
        predecessor = PeerNames(config.from_predecessor.peer_qpn)
        self._endpoint.connect(self._config.from_predecessor.qpn, predecessor)

    def get_timer(self) -> int | None:
        """When `handle_timer` wants to be called."""
        return self._machine.get_timer()

    def handle_timer(self, now: int) -> None:
        self._machine.handle_timer(now)

    def next_event(self) -> Event | None:
        return self._machine.next_event()

    def finish(self, now: int) -> None:
        """Queue the last events: what the port counted."""
        self._machine.finish(now)

    def close(self) -> None:
        """Give all back to the device. Its QPs answer no peer from now on."""
        self._nic.close()

"""What one worker is told before it starts. Values only: they travel as JSON to another process or host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from workloads.wire import PSN_MODULUS, Envelope

__all__ = [
    "ArithmeticSpec",
    "CollectiveConfig",
    "Framing",
    "GroupShare",
    "HostConfig",
    "QpConfig",
    "WorkerConfig",
    "WorkloadConfig",
]


@dataclass(frozen=True, slots=True)
class QpConfig:
    """One RC queue pair, both roles (requester and responder)."""

    qpn: int
    peer_qpn: int
    envelope: Envelope
    """of the packets that this QP sends"""
    first_psn: int
    """of the requests that this QP sends"""
    peer_first_psn: int
    """of the requests that it expects"""
    path_mtu: int = 1024
    timeout_code: int = 15
    retry_count: int = 7
    rnr_retry: int = 7
    rnr_timer_code: int = 12
    ack_every: int = 16
    ack_request_every: int = 64
    """AckReq on LAST, ONLY and at least that often (K_ACK)"""
    window_packets: int = 1 << 20
    """unacknowledged PSNs at most"""
    retry7_infinite: bool = False
    """retry_count 7 never ends, as in rdma_rxe"""
    trace: bool = False
    """tell every step of the two tables (QpStepped)"""

    def reborn(self, lives: int) -> QpConfig:
        """The queue pair of a process that was started anew so many times: it has another number and another first PSN, as
        a device would give it. With the old ones it would take what is still on its way to its former self."""
        return replace(
            self,
            qpn=(self.qpn + lives * _QPNS_APART) % _QPNS,
            first_psn=(self.first_psn + lives * _PSNS_APART) % PSN_MODULUS,
        )


_QPNS, _QPNS_APART = 1 << 24, 1 << 16
"""a plan takes QPNs below 2^16"""
_PSNS_APART = 5 << 20


@dataclass(frozen=True, slots=True)
class ArithmeticSpec:
    op: str = "sum"
    """sum, max, xor"""
    dtype: str = "float32"
    """float32, int32 (wraps), int32sat (saturates)"""


@dataclass(frozen=True, slots=True)
class CollectiveConfig:
    kind: str
    """netreduce, ring, shift"""
    ring_id: int
    rank: int
    size: int
    """P"""
    arithmetic: ArithmeticSpec = ArithmeticSpec()
    message_packets: int = 170
    window_messages: int = 2
    verb: str = "write"
    """write, send: with immediate both"""
    credit: str = "both"
    hello: bool = True
    peer_base_va: int = 0
    """where the successor's receive ring begins (write)"""
    peer_rkey: int = 0
    base_va: int = 0
    """our own receive ring (write)"""
    rkey: int = 0
    receive_late_ns: int = 0


@dataclass(frozen=True, slots=True)
class WorkloadConfig:
    kind: str
    """synthetic, digits"""
    seed: int
    elements: int
    iterations: int
    straggle_ns: int = 0
    """this worker starts every iteration that late"""


class GroupShare(Protocol):
    """What a worker of whatever protocol knows of its group."""

    @property
    def kind(self) -> str:
        """the collective's name"""
        ...

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def arithmetic(self) -> ArithmeticSpec: ...


@dataclass(frozen=True, slots=True)
class Framing:
    """A full data packet of a protocol."""

    payload_bytes: int
    """of gradient"""
    frame_bytes: int
    """Ethernet header to the last byte, without FCS"""


class HostConfig(Protocol):
    """What worlds and checkers ask of a worker's configuration, whatever it speaks. The Machine to it is what
    `workloads.hosts.create_host` makes; how it talks is its own business."""

    @property
    def name(self) -> str:
        """its host's"""
        ...

    @property
    def collective(self) -> GroupShare: ...

    @property
    def group(self) -> int:
        """id of its ring or job: whose gradients are summed with its own"""
        ...

    @property
    def workload(self) -> WorkloadConfig: ...

    @property
    def sends(self) -> tuple[Envelope, ...]:
        """of the packets that carry its gradient away: which links they take"""
        ...

    @property
    def framing(self) -> Framing: ...

    def reborn(self, lives: int) -> HostConfig:
        """What it is told when its process was started anew so many times."""
        ...


_RC_FRAME_BYTES = 14 + 20 + 8 + 12 + 4
"""Ethernet, IPv4, UDP, BTH and iCRC"""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A HostConfig whose collective runs over two RC queue pairs, one to its successor, one from its predecessor."""

    name: str
    to_successor: QpConfig
    from_predecessor: QpConfig
    collective: CollectiveConfig
    workload: WorkloadConfig

    @property
    def group(self) -> int:
        return self.collective.ring_id

    @property
    def sends(self) -> tuple[Envelope, ...]:
        return (self.to_successor.envelope,)

    @property
    def framing(self) -> Framing:
        payload = self.to_successor.path_mtu
        return Framing(payload, _RC_FRAME_BYTES + payload)

    def reborn(self, lives: int) -> WorkerConfig:
        """What this worker is told when its process was started anew so many times. Its peers still name the old queue
        pairs, so that it reaches nobody and the job ends with RETRY_EXC: rings are installed for queue pairs, not hosts
        (protocol text, section 5, row 13)."""
        return replace(
            self, to_successor=self.to_successor.reborn(lives), from_predecessor=self.from_predecessor.reborn(lives)
        )

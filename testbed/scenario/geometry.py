"""How a NetReduce or shift job cuts its gradients into messages and packets (docs/scenario.md, section "Messages")."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.transports import transport_of
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.rc.transport import RELIABLE
from workloads.wire.envelope import IPV4, UDP
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["FRAME_OVERHEAD_BYTES", "INA_HEADER_BYTES", "Geometry", "geometry_of", "largest_packet", "packet_bytes"]

_IP, _UDP = IPV4.size, UDP.size
_BTH, _RETH, _IMM, _ICRC = (RELIABLE.part_bytes[name] for name in ("BTH", "RETH", "ImmDt", "iCRC"))
FRAME_OVERHEAD_BYTES = EMPTY_FRAME_BYTES


def packet_bytes(transport: Transport) -> tuple[int, str]:
    """(bytes of the largest IP packet, how they add up). The largest is an ONLY packet with immediate."""
    reth = f" + {_RETH} RETH" if transport.verb == "write" else ""
    total = _IP + _UDP + _BTH + (_RETH if reth else 0) + _IMM + transport.path_mtu + _ICRC
    parts = f"{_IP} IPv4 + {_UDP} UDP + {_BTH} BTH{reth} + {_IMM} ImmDt + {transport.path_mtu} payload + {_ICRC} iCRC"
    return total, f"{parts} = {total}"


def largest_packet(job: Job, transport: Transport) -> tuple[int, str]:
    """As `packet_bytes`, of what the job sends: RoCE packets, or aggregation datagrams."""
    kind = transport_of(job.protocol, transport.framing)
    if not kind.kinds:
        return packet_bytes(transport)
    header = kind.header_bytes
    total = _IP + _UDP + header + transport.path_mtu
    return total, f"{_IP} IPv4 + {_UDP} UDP + {header} header + {transport.path_mtu} payload = {total}"


@dataclass(frozen=True, slots=True)
class Geometry:
    """Messages of one connection."""

    hello: bool
    iterations: int
    per_iteration: int
    """messages of one iteration"""
    full_packets: int
    """packets of each message but the last of an iteration"""
    last_packets: int

    @property
    def messages(self) -> int:
        return int(self.hello) + self.iterations * self.per_iteration

    @property
    def packets(self) -> int:
        per_iteration = (self.per_iteration - 1) * self.full_packets + self.last_packets
        return int(self.hello) + self.iterations * per_iteration

    def packets_of(self, message: int) -> int:
        """Packets of message `message` (the hello, where there is one, is message 0)."""
        if self.hello and message == 0:
            return 1
        is_last = (message - int(self.hello)) % self.per_iteration == self.per_iteration - 1
        return self.last_packets if is_last else self.full_packets


def geometry_of(job: Job, transport: Transport) -> Geometry | None:
    """None where it does not follow from the scenario alone (the chunks of rings and phases, a model's size)."""
    window = protocol_of(job.protocol).message_window(job.window_messages, job.message_packets)
    if window is None or job.workload == "digits":
        return None
    room = job.message_packets * transport.path_mtu - INA_HEADER_BYTES
    count = -(-job.size_bytes // room)
    last = job.size_bytes - (count - 1) * room + INA_HEADER_BYTES
    return Geometry(job.hello, job.iterations, count, job.message_packets, -(-last // transport.path_mtu))

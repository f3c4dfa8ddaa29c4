"""The wire of SwitchML tests: a worker's hand that can lie, over UDP and over unreliable connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from switch_nodes.jobs import JobConfig, JobMember
from workloads.config import JobShare, WorkloadConfig
from workloads.datagrams.arrival import Arrival
from workloads.switchml import SwitchMlConfig
from workloads.switchml.framing import HostFraming, create_framing
from workloads.switchml.uc_mapping import frames_of, to_write
from workloads.uc import UcPairs, service_qpn
from workloads.uc.transport import UNRELIABLE
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramKind, encode_datagram

__all__ = ["FRAMINGS", "UDP", "Hand", "Result", "TestFraming", "uc_pairs"]


@dataclass(frozen=True)
class TestFraming:
    __test__ = False
    name: str
    path_mtu: int | None
    """of UC; None: UDP"""
    lies: tuple[Mapping[str, int], ...]
    """fields of the header that a switch must not believe in what rank 0 of three sends for block 0"""
    reasons: tuple[str, ...]
    """why it ignores: a damaged packet, each of the lies, one element too much"""


UDP = TestFraming(
    "udp", None,
    ({"slot": 4}, {"bitmap0": 2}, {"bitmap0": 3}, {"fan_in0": 4}, {"kind": DatagramKind.RESULT}, {"op": 1}),
    ("checksum", "bad_slot", *["malformed"] * 6),
)  # fmt: skip
FRAMINGS = {
    framing.name: framing
    for framing in (
        UDP,
        TestFraming("uc", 32, ({"slot": 4}, {"slot": 1}), ("icrc", "bad_slot", "bad_slot", "invalid")),
        TestFraming("uc-long", 4, ({"slot": 4}, {"slot": 1}), ("icrc", "bad_slot", "bad_slot", "invalid")),
    )
}
"""uc-long: one element in a packet, so that the messages of the cases have two"""


def uc_pairs(rank: int, first_slot: int, path_mtu: int) -> UcPairs:
    """PSNs that wrap."""
    return UcPairs(
        0x300 + 16 * rank, service_qpn(rank, first_slot), 0xFFFFFC, 0x5000 * (rank + 1), 0x700 + 2 * rank, path_mtu
    )


class Result(NamedTuple):
    src_ip: bytes
    header: AggregationHeader
    payload: bytes


class Hand:
    """What one worker sends and gets."""

    def __init__(self, config: JobConfig, member: JobMember, sport: int) -> None:
        self._config, self._member = config, member
        self._envelope = Envelope(member.mac, config.service_mac, member.ip, config.service_ip, sport)
        self._receiver: HostFraming = create_framing(
            SwitchMlConfig(
                "h", JobShare("switchml", config.job, member.rank, len(config.members)),
                WorkloadConfig("synthetic", 1, 1, 1),
                self._envelope, config.elements, config.first_slot, config.slots, uc=member.uc,
            )
        )  # fmt: skip
        self._endpoint = UNRELIABLE.endpoint()
        if member.uc is not None:
            self._endpoint.add_qps(member.uc.host_qp(cell, self._envelope) for cell in range(config.slots))

    def frames(self, header: AggregationHeader, payload: bytes, cell: int) -> Sequence[bytes]:
        """`cell`: the index that it belongs to, whatever the header says."""
        uc = self._member.uc
        if uc is None:
            return [encode_datagram(self._envelope, AGGREGATION_PORT, header, payload)]
        write = to_write(header, uc.va, 4 * self._config.elements, header.slot << 1, payload)
        return frames_of(self._endpoint, uc.qpn + cell, write)

    def receive(self, frame: bytes) -> Result | None:
        """The result in it."""
        found = Arrival()
        if not self._receiver.read(frame, found):
            return None
        header = AggregationHeader(
            found.policy, found.kind, found.job, found.sequence, found.slot, found.bitmap, found.fan_in, found.count,
            found.flags, found.exponent0, found.exponent1, op=found.op,
        )  # fmt: skip
        return Result(found.source.to_bytes(4, "big"), header, found.frame[found.at : found.at + 4 * found.count])

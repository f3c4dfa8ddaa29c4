"""A queue pair with IRN whose frames a test makes up, judged by the hunt's rules."""

from __future__ import annotations

from testbed.hunt.irn_rules import IrnPair
from tests.support.rc_pair import BASE_VA, MTU, RKEY, pair_configs
from workloads.config import IrnConfig
from workloads.rc.captured import parse_frame
from workloads.wire import Aeth, Bth, ImmDt, Opcode, Packet, Reth, Sack, encode_packet, psn_add

IRN = IrnConfig(rto_low_ns=100, rto_high_ns=320, cap_packets=6, in_order=False)
"""as switches that sum answer: not in the order in which packets came"""
ACK, NAK = 0, 0x60


class Bench:
    """Queue pair A: it sends requests to B, and gets B's."""

    def __init__(self, psn: int) -> None:
        self.config = pair_configs(recovery="irn", irn=IRN, psn=psn)[0]
        self.broken: list[str] = []
        self.pair = IrnPair(self.config, lambda _, rule, what: self.broken.append(rule))
        self.now = 0

    def sends(self, *offsets: int) -> None:
        for offset in offsets:
            self.pair.left(
                self._data(psn_add(self.config.first_psn, offset), self.config.peer_qpn, ends=False), self.now
            )

    def hears(self, syndrome: int, cumulative: int, selective: int) -> None:
        first = self.config.first_psn
        self.pair.came(self._answer(syndrome, psn_add(first, cumulative), psn_add(first, selective), 0), self.now)

    def told(self, offset: int, count: int, bits: int, *, newest: int) -> None:
        """A map of `count` packets from this one on; `newest`: of those that came to the node that tells."""
        first = self.config.first_psn
        self.pair._sender.told(psn_add(first, offset), count, bits, psn_add(first, newest))

    def waits_and_sends(self, *offsets: int) -> None:
        """When the longest timer is over."""
        self.now += IRN.rto_high_ns + IRN.rto_low_ns
        self.pair.woke(self.now)
        self.sends(*offsets)

    def gets(self, offset: int, *, ends: bool = False) -> None:
        self.pair.came(self._data(psn_add(self.config.peer_first_psn, offset), self.config.qpn, ends=ends), self.now)

    def gets_read(self, offset: int) -> None:
        """Instead of the WRITE: no request of ours."""
        bth = Bth(Opcode.READ_REQUEST, self.config.qpn, psn_add(self.config.peer_first_psn, offset))
        frame = encode_packet(Packet(self.config.envelope, bth, reth=Reth(BASE_VA, RKEY, MTU)))
        self.pair.came(parse_frame(frame), self.now)

    def answers(self, syndrome: int, cumulative: int, selective: int, msn: int = 0) -> None:
        first = self.config.peer_first_psn
        found = self._answer(syndrome, psn_add(first, cumulative), psn_add(first, selective), msn)
        self.pair.left(found, self.now)

    def _data(self, psn: int, qpn: int, *, ends: bool):  # type: ignore[no-untyped-def]
        bth = Bth(Opcode.WRITE_ONLY_IMM if ends else Opcode.WRITE_ONLY, qpn, psn)
        packet = Packet(self.config.envelope, bth, bytes(MTU), reth=Reth(BASE_VA, RKEY, 9 * MTU))
        return parse_frame(encode_packet(packet if not ends else Packet(
            self.config.envelope, bth, bytes(MTU), reth=Reth(BASE_VA, RKEY, 9 * MTU), imm=ImmDt(1)
        )))  # fmt: skip

    def _answer(self, syndrome: int, cumulative: int, selective: int, msn: int):  # type: ignore[no-untyped-def]
        bth = Bth(Opcode.IRN_ANSWER, self.config.peer_qpn, selective)
        packet = Packet(self.config.envelope, bth, aeth=Aeth(syndrome, msn), sack=Sack(cumulative, selective))
        return parse_frame(encode_packet(packet))

"""The UC responder: what `receiver_table` says, done. Decoded packets in, messages out; no bytes of headers, no
clock."""

from __future__ import annotations

from typing import NamedTuple

from workloads.rc.inbound import Inbound
from workloads.uc.errors import UcError
from workloads.uc.receiver_table import RECEIVER_TABLE, UcAction, UcEvent, UcState
from workloads.wire import OPCODES, OpcodeInfo, opcode_name, psn_add

__all__ = ["UcReceiver", "UcWrite"]

_POSITION = {
    (True, False): UcEvent.FIRST,
    (True, True): UcEvent.ONLY,
    (False, False): UcEvent.MIDDLE,
    (False, True): UcEvent.LAST,
}
"""(starts a message, ends it) -> position"""


class UcWrite(NamedTuple):
    """A whole RDMA WRITE."""

    va: int
    rkey: int
    imm: int | None
    payload: bytes | memoryview
    """payload of one packet: a view of its frame; copy what is kept"""


class UcReceiver:
    """Takes the messages of one queue pair; at most one is arriving at a time."""

    def __init__(self, path_mtu: int, longest: int) -> None:
        """`longest`: bytes of a message; longer ones are dropped at their first packet."""
        self._mtu, self._longest = path_mtu, longest
        self.state = UcState.EXPECT_FIRST
        self.expected = 0
        """PSN; means something inside a message only"""
        self._va = self._rkey = self._length = self._got = 0
        self._parts: list[bytes | memoryview] = []

    def take(self, packet: Inbound) -> UcWrite | None:
        """One packet whose iCRC is right; its message when this was the last of it. Raises UcError when it is
        dropped."""
        info = OPCODES[packet.opcode]
        event, why = self._judge(packet, info)
        self.state, actions = RECEIVER_TABLE[self.state, event]
        for action in actions:
            if action is UcAction.BEGIN:
                assert packet.reth is not None, "a FIRST or ONLY of a WRITE"
                self._va, self._rkey, self._length = packet.reth.va, packet.reth.rkey, packet.reth.length
                self._forget()
            elif action is UcAction.PLACE:
                self.expected = psn_add(packet.psn, 1)
                self._got += len(packet.payload)
                self._parts.append(memoryview(packet.payload) if info.ends and info.starts else bytes(packet.payload))
            elif action is UcAction.DELIVER:
                payload = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                self._forget()
                return UcWrite(self._va, self._rkey, packet.imm, payload)
            elif action is UcAction.ABANDON:
                self._forget()
            else:
                reason = "invalid" if event is UcEvent.INVALID else "gap"
                raise UcError(reason, f"{opcode_name(packet.opcode)}, PSN {packet.psn:#08x}: {why}")
        return None

    def _judge(self, packet: Inbound, info: OpcodeInfo) -> tuple[UcEvent, str]:
        """The event, and what is wrong where something is."""
        if not info.is_write:
            return UcEvent.INVALID, "only RDMA WRITE is served"
        size, event = len(packet.payload), _POSITION[info.starts, info.ends]
        if not info.starts:
            if packet.psn != self.expected:
                return UcEvent.GAP, f"expected PSN {self.expected:#08x}"
            if self.state is not UcState.IN_MESSAGE:
                return event, "it does not continue a message"
            length, got = self._length, self._got
        else:
            assert packet.reth is not None
            length, got = packet.reth.length, 0
            if length > self._longest:
                return UcEvent.INVALID, f"a message of {length} bytes, at most {self._longest} are taken"
        # FIRST and MIDDLE carry a full MTU and leave something for the rest; LAST and ONLY carry exactly what is
        # missing
        if (
            size != (length - got if info.ends else self._mtu)
            or size > self._mtu
            or (not info.ends and got + size >= length)
        ):
            return UcEvent.INVALID, f"{size} bytes behind {got} of {length}, path MTU {self._mtu}"
        return event, ""

    def _forget(self) -> None:
        self._parts, self._got = [], 0

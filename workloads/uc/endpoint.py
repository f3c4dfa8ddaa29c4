"""Many UC queue pairs behind one address: frames in, messages out; messages in, frames out."""

from __future__ import annotations

from typing import NamedTuple

from workloads.machine import Buffer
from workloads.rc.inbound import RoceFrameReader, inbound_icrc_is_valid
from workloads.uc.config import UcQpConfig
from workloads.uc.errors import UcError
from workloads.uc.receiver import UcReceiver, UcWrite
from workloads.uc.sender import UcSender
from workloads.wire import ROCE_PORT, Opcode, WireError

__all__ = ["UcEndpoint", "UcMessage"]

_DST_IP, _DPORT = slice(30, 34), slice(36, 38)
_ROCE = ROCE_PORT.to_bytes(2, "big")
_UDP_OVER_IPV4 = (0x08, 0x00, 0x45, 17)


class UcMessage(NamedTuple):
    """A WRITE that arrived whole."""

    qpn: int
    """ours"""
    src_ip: bytes
    write: UcWrite


class UcEndpoint:
    """IPv4 only. `longest`: bytes of the longest message that is taken."""

    def __init__(self, ip: bytes, longest: int) -> None:
        self._ip, self._longest = ip, longest
        self._reader = RoceFrameReader()
        self._configs: dict[int, UcQpConfig] = {}
        self._senders: dict[int, UcSender] = {}
        self._receivers: dict[int, UcReceiver] = {}
        """both are made when they are needed: a service has a queue pair for every slot that might be used"""

    def add_qp(self, config: UcQpConfig) -> None:
        """Raises ValueError when the number is taken."""
        if config.qpn in self._configs:
            raise ValueError(f"two queue pairs with number {config.qpn:#x}")
        self._configs[config.qpn] = config

    def is_for_us(self, frame: Buffer) -> bool:
        """RoCE v2 to our address, whatever is inside."""
        view = memoryview(frame)
        return (
            len(view) >= _DPORT.stop
            and (view[12], view[13], view[14], view[23]) == _UDP_OVER_IPV4
            and view[_DST_IP] == self._ip
            and view[_DPORT] == _ROCE
        )

    def receive(self, frame: Buffer) -> UcMessage | None:
        """A frame that `is_for_us`; None: its message goes on. Raises UcError when the packet is dropped."""
        try:
            packet = self._reader.read(frame)
        except WireError as error:
            raise UcError("malformed", str(error)) from None
        if packet is None:
            raise UcError("malformed", "a fragment")
        if not inbound_icrc_is_valid(packet):
            raise UcError("icrc", f"the iCRC of PSN {packet.psn:#08x} to queue pair {packet.dest_qpn:#x} is wrong")
        config = self._configs.get(packet.dest_qpn)
        if config is None or config.envelope.dst_ip != packet.envelope.src_ip:
            raise UcError("unknown_qp", f"no queue pair {packet.dest_qpn:#x} with {packet.envelope.src_ip.hex()}")
        if not Opcode.UC_SEND_FIRST <= packet.opcode <= Opcode.UC_WRITE_ONLY_IMM:
            raise UcError("malformed", f"opcode {packet.opcode:#04x} on an unreliable connection")
        receiver = self._receivers.get(config.qpn)
        if receiver is None:
            receiver = self._receivers[config.qpn] = UcReceiver(config.path_mtu, self._longest)
        write = receiver.take(packet)
        return None if write is None else UcMessage(config.qpn, packet.envelope.src_ip, write)

    def send(self, qpn: int, write: UcWrite) -> list[bytes]:
        """The frames of one message; they must leave in this order. Raises KeyError when we have no such queue pair."""
        sender = self._senders.get(qpn)
        if sender is None:
            sender = self._senders[qpn] = UcSender(self._configs[qpn])
        return sender.frames(write)

"""Many UC queue pairs behind one address: frames in, messages out; messages in, frames out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from workloads.config import QpConfig
from workloads.events import FrameRejected
from workloads.machine import Buffer, Event
from workloads.rc.inbound import RoceFrameReader, inbound_icrc_is_valid
from workloads.transports.messages import SendRequest
from workloads.uc.errors import UcError
from workloads.uc.receiver import UcReceiver, UcWrite
from workloads.uc.sender import UcSender
from workloads.wire import Opcode, WireError
from workloads.wire.recognised import target_of

__all__ = ["UcEndpoint", "UcMessage"]

_PORT = 0


class UcMessage(NamedTuple):
    """A WRITE that arrived whole."""

    qpn: int
    """ours"""
    src_ip: bytes
    write: UcWrite


class UcEndpoint:
    """IPv4 only. Nothing is answered, so what it sends never completes, and it has no timers. Packets that are dropped
    are events. `longest`: bytes of the longest message that is taken."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._reader = RoceFrameReader()
        self._addresses: set[bytes] = set()
        self._configs: dict[int, QpConfig] = {}
        self._senders: dict[int, UcSender] = {}
        self._receivers: dict[int, UcReceiver] = {}
        """both are made when they are needed: a service has a queue pair for every slot that might be used"""
        self._leaving: deque[bytes] = deque()
        self._arrived: deque[UcMessage] = deque()
        self._events: deque[Event] = deque()

    def add_qps(self, configs: Iterable[QpConfig]) -> None:
        for config in configs:
            if config.qpn in self._configs:
                raise ValueError(f"QP {config.qpn:#x} exists already")
            self._configs[config.qpn] = config
            self._addresses.add(config.envelope.src_ip)

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None:
        """An RDMA WRITE."""
        sender = self._senders.get(qpn)
        if sender is None:
            sender = self._senders[qpn] = UcSender(self._configs[qpn])
        self._leaving.extend(sender.frames(request))

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        try:
            message = self._read(frame)
        except UcError as error:
            if target_of(frame) in self._addresses:
                self._events.append(FrameRejected(error.reason, str(error)))
            return
        if message is not None:
            self._arrived.append(message)

    def next_frame(self, now: int) -> bytes | None:
        return self._leaving.popleft() if self._leaving else None

    def frames_to_send(self, now: int) -> Iterator[tuple[int, Buffer]]:
        while self._leaving:
            yield _PORT, self._leaving.popleft()

    def get_timer(self) -> int | None:
        return None

    def handle_timer(self, now: int) -> None:
        """It has none."""

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def next_completion(self) -> UcMessage | None:
        return self._arrived.popleft() if self._arrived else None

    @property
    def has_news(self) -> bool:
        return bool(self._arrived or self._events)

    def statistics(self) -> tuple[Event, ...]:
        """None: the user counts."""
        return ()

    def _read(self, frame: Buffer) -> UcMessage | None:
        """None: its message goes on, or it is for another address. Raises UcError when the packet is dropped."""
        try:
            packet = self._reader.read(frame)
        except WireError as error:
            raise UcError("malformed", str(error)) from None
        if packet is None:
            raise UcError("malformed", "a fragment")
        if packet.envelope.dst_ip not in self._addresses:
            return None
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

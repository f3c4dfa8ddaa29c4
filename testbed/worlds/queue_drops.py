"""What switches tell of frames that a queue with classes did not take: the same in all worlds."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.faults.identity import IdentityReader, datagram_text, flow_text
from testbed.history.events import QueueDropped
from workloads.datagrams.transport import DATAGRAMS
from workloads.machine import Buffer
from workloads.transports import TransportKind
from workloads.wire.dscp import read_dscp

__all__ = ["QueueDrops"]


class QueueDrops:
    """Of one switch."""

    def __init__(self, transports: Sequence[TransportKind] = (DATAGRAMS,)) -> None:
        """`transports`: those of the jobs; RoCE is always known."""
        self._reader = IdentityReader(transports)

    def event(self, link: str, direction: str, frame: Buffer, waiting: int, *, early: bool) -> QueueDropped:
        """`waiting`: frames in the queue that did not take this one."""
        who = self._reader.read(frame)
        return QueueDropped(
            link,
            direction,
            early,
            read_dscp(frame),
            waiting,
            flow_text(who.addresses),
            who.opcode,
            who.psn,
            datagram_text(frame, who.transport, who.key),
        )

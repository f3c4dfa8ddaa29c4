"""What workers and the server of a DLCP job have in common: the frames that they take and send."""

from __future__ import annotations

from collections import deque

import cython
import numpy as np

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.problems import refuse
from workloads.datagrams.quick_host import QuickHost
from workloads.datagrams.training import Training
from workloads.dlcp.checks import problems_in_host
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.events import FlowClosed
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import template_to
from workloads.events import CollectiveStarted, DatagramResent
from workloads.gradients import source_of
from workloads.wire.aggregation import DatagramFlag, DatagramKind, Policy

if not cython.compiled:
    from workloads.datagrams.answer import acknowledgement_of
    from workloads.kernels import bit_of
    from workloads.wire.inspected import address_of

__all__ = ["DlcpHost"]

_DLCP, _ACK, _LAST = int(Policy.DLCP), int(DatagramKind.ACK), int(DatagramFlag.LAST)


class DlcpHost(QuickHost):
    """Raises ScenarioError for a configuration that cannot be. A subclass may override what has no underscore."""

    kinds = frozenset((DatagramKind.ACK, DatagramKind.DATA))
    """kinds of packets that it understands"""

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        refuse(problems_in_host(config), owner=f"host {config.name}")
        source, share = source_of(config), config.collective
        QuickHost.__init__(self, share, Training.of(config.workload, source, share.rank, start_ns))
        self._config, self._dtype = config, np.dtype(source.dtype)
        self._packets, self._elements, self._total = config.packets, config.elements, config.workload.elements
        """packets of a gradient, elements of a full packet, elements of a gradient"""
        self._needed = config.needed
        self._understood = sum([1 << kind for kind in self.kinds])
        self._address = int.from_bytes(config.peers[0].src_ip, "big")
        self._peers = [int.from_bytes(peer.dst_ip, "big") for peer in config.peers]
        self._templates = [template_to(peer) for peer in config.peers]
        self._leaving: deque[bytes] = deque()
        """acknowledgements"""
        self._found = Arrival()
        if config.lives:
            self.fail("RESTARTED", "it restarted: no host sends again what it had of its flows")

    def take(self, port: int, frame: bytes, now: int) -> None:
        found = self._found
        if not self._is_readable(frame) or address_of(frame, True) != self._address:
            return
        found.read(frame)
        size, is_ack = self.size_of(found), found.kind == _ACK
        if (
            found.policy != _DLCP
            or found.job != self._job
            or found.fan_in != self._size
            or not self._understood >> found.kind & 1
            or size < 0
            or self._failed
        ):
            self.reject("unexpected", f"kind {found.kind} of job {found.job}, packet {found.sequence - 1}")
        elif found.count != (0 if is_ack else size) or not self.concerns_us(found):
            self.reject("unexpected", f"{found.count} elements of ranks {hex(found.bitmap)}")
        elif is_ack:
            self.acknowledged(found, now)
        else:
            self.take_elements(found, now)

    def size_of(self, found: Arrival) -> int:
        """Elements of that packet; below 0: there is none."""
        packet = found.sequence - 1
        if not 0 <= packet < self._packets or found.slot:
            return -1
        left = self._total - packet * self._elements
        return left if left < self._elements else self._elements

    def concerns_us(self, found: Arrival) -> bool:
        """Whether it concerns the worker that it names, and comes from the other end."""
        return found.bitmap == bit_of(self._rank) and found.source == self._peers[0]

    def acknowledged(self, found: Arrival, now: int) -> None:
        """A packet of ours is there."""
        raise NotImplementedError

    def take_elements(self, found: Arrival, now: int) -> None:
        """A packet for us."""
        raise NotImplementedError

    def begin(self, now: int) -> None:
        training = self._training
        self.events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, self._packets))

    def acknowledge(self, found: Arrival, peer: int, bitmap: int, stop: bool) -> None:
        """Send an acknowledgement to the sender of the packet, for these ranks."""
        flags = _LAST if stop else 0
        self._leaving.append(acknowledgement_of(found, self._templates[peer], bitmap, flags))
        self._sent += 1

    def hear_ack(self, found: Arrival, outgoing: Outgoing | None, now: int) -> None:
        """An acknowledgement of a packet that left. One of any other packet is refused, also if it says that no more
        are needed. `outgoing`: None: the flow is over."""
        packet = found.sequence - 1
        if outgoing is None:
            self._duplicates += 1
            return
        flow = outgoing.flow
        if not flow.has_left(packet):
            self.reject("unexpected", f"an acknowledgement of packet {packet}, which was never sent")
            return
        if flow.is_outstanding(packet):
            flow.settle(packet, now)
        if found.flags & _LAST:
            flow.stop()

    def next_frame(self, outgoing: Outgoing, now: int) -> bytes | None:
        """That leaves now."""
        flow = outgoing.flow
        packet = flow.next_leaving()
        if packet < 0:
            return None
        waited_ns, before = now - flow.progress_at, flow.left(packet, now)
        self._sent += 1
        if before:
            self._sent_again += 1
            self.events.append(DatagramResent(self._job, outgoing.block + packet, 0, "timeout", before, waited_ns))
        return outgoing.encode(packet, before > 0)

    def tell_closed(self, flow: ReceivedFlow, iteration: int, sender: int, step: int = 0) -> None:
        self.events.append(FlowClosed(self._job, iteration, sender, flow.packets, flow.counted, flow.bitmap, step))

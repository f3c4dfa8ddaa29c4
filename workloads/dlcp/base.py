"""What workers and the server of a DLCP job have in common: iterations, counters, and what their frames are."""

from __future__ import annotations

from collections import deque

import numpy as np

from workloads.datagrams.host import DatagramHost
from workloads.datagrams.problems import refuse
from workloads.datagrams.training import Training
from workloads.dlcp.checks import problems_in_host
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.events import FlowClosed
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.outgoing import Outgoing
from workloads.dlcp.packets import acknowledgement, rank_of
from workloads.events import DatagramResent
from workloads.gradients import source_of
from workloads.machine import Buffer
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    Datagram,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

__all__ = ["DlcpHost"]


class DlcpHost(DatagramHost):
    """Raises ScenarioError for a configuration that cannot be."""

    def __init__(self, config: DlcpConfig, *, start_ns: int = 0) -> None:
        refuse(problems_in_host(config), owner=f"host {config.name}")
        source = source_of(config)
        super().__init__(config.collective.job, Training.of(config.workload, source, config.collective.rank, start_ns))
        self._config = config
        self._dtype = np.dtype(source.dtype)
        self._leaving: deque[bytes] = deque()
        """acknowledgements"""
        if config.lives:
            self._training.fail("RESTARTED", "it started anew: what it had of its flows, nobody sends again")

    def _receive(self, frame: Buffer, kinds: tuple[DatagramKind, ...]) -> Datagram | None:
        """A packet of our job, of one of these kinds and for a packet that there is; None: it is for others, or cannot
        be used, which is told."""
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._reject(error.reason, str(error))
            return None
        if found is None or found.dst_ip != self._config.peers[0].src_ip:
            return None
        header, config = found.header, self._config
        ours = (header.policy, header.job, header.fan_in0) == (Policy.DLCP, self._job, config.collective.size)
        size = self._size_of(header)
        if not ours or header.kind not in kinds or size is None or self.failed:
            self._reject("unexpected", f"kind {header.kind} of job {header.job}, packet {header.sequence - 1}")
            return None
        if header.nelem != (0 if header.kind == DatagramKind.ACK else size) or not self._concerns_us(found):
            self._reject("unexpected", f"{header.nelem} elements of ranks {header.bitmap0:#x}")
            return None
        return found

    def _size_of(self, header: AggregationHeader) -> int | None:
        """Elements of that packet; None: there is none."""
        packet, config = header.sequence - 1, self._config
        if not 0 <= packet < config.packets or header.slot:
            return None
        first, end = config.span(packet)
        return end - first

    def _concerns_us(self, found: Datagram) -> bool:
        """Whether it is about the worker that it says, and comes from the other end."""
        config, bitmap, address = self._config, found.header.bitmap0, found.src_ip
        if bitmap.bit_count() != 1:
            return False
        rank = rank_of(bitmap)
        if config.is_server:
            return rank < config.senders and address == config.peers[rank].dst_ip
        return rank == config.collective.rank and address == config.peers[0].dst_ip

    def _acknowledge(self, header: AggregationHeader, envelope: Envelope, *, stop: bool) -> None:
        """What DATA or RESULT said, to who sent it."""
        header = acknowledgement(header, stop=stop)
        self._leaving.append(encode_datagram(envelope, AGGREGATION_PORT, header, b""))
        self._counts["packets_sent"] += 1

    def _hear_ack(self, found: Datagram, outgoing: Outgoing | None, now: int) -> None:
        """Of a packet that left. An acknowledgement of any other is refused, also if it says that no more are needed.
        `outgoing`: None: the flow is over."""
        header = found.header
        packet = header.sequence - 1
        if outgoing is None:
            self._counts["duplicates_received"] += 1
            return
        if not outgoing.flow.has_left(packet):
            self._reject("unexpected", f"an acknowledgement of packet {packet}, which was never sent")
            return
        outgoing.flow.settle(packet, now)
        if header.flags & DatagramFlag.LAST:
            outgoing.flow.stop()

    def _next_frame(self, outgoing: Outgoing, now: int) -> bytes | None:
        """That leaves now."""
        packet = outgoing.flow.take()
        if packet is None:
            return None
        waited_ns, before = now - outgoing.flow.progress_at, outgoing.flow.left(packet, now)
        self._counts["packets_sent"] += 1
        if before:
            self._counts["packets_retransmitted"] += 1
            self._events.append(DatagramResent(self._job, outgoing.block + packet, 0, "timeout", before, waited_ns))
        return outgoing.encode(packet, again=before > 0)

    def _tell_closed(self, flow: ReceivedFlow, iteration: int, sender: int, step: int = 0) -> None:
        self._events.append(FlowClosed(self._job, iteration, sender, flow.packets, flow.counted, flow.bitmap, step))

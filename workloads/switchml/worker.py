"""A SwitchML worker as a Machine (Sapio et al., NSDI 2021; see `docs/switchml.md` for what is sourced and what is
decided).

It sends each block of its gradient to the switch, one per slot index, and takes the sum out of the result. A result
that does not come is asked for by sending the very same packet again: the switch counts it if it was lost on the way
there, and answers it alone if the result was lost on the way back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from workloads.datagrams.blockworker import BlockWorker
from workloads.datagrams.problems import refuse
from workloads.datagrams.slot_window import SlotWindow
from workloads.events import DatagramResent
from workloads.gradients import GradientSource, source_of
from workloads.machine import Buffer
from workloads.switchml.checks import problems_in_worker
from workloads.switchml.config import SwitchMlConfig
from workloads.switchml.framing import create_framing
from workloads.wire.aggregation import (
    SEQUENCES,
    AggregationHeader,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    nearest_packet,
)

__all__ = ["SwitchMlWorker", "create_worker"]


class SwitchMlWorker(BlockWorker[SwitchMlConfig, SlotWindow]):
    """Raises ScenarioError for a configuration that SwitchML cannot serve."""

    def __init__(self, config: SwitchMlConfig, source: GradientSource, *, start_ns: int = 0) -> None:
        refuse(problems_in_worker(config), owner=f"worker {config.name}")
        super().__init__(config, source, SlotWindow(config.window, config.rto_ns), start_ns=start_ns)
        self._framing = create_framing(config)
        self._leaving: deque[bytes] = deque()
        """the rest of a packet that takes several frames"""

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        try:
            found = self._framing.receive(frame)
        except DatagramError as error:
            self._reject(error.reason, str(error))
            return
        if found is None:
            return
        header = found.header
        if (header.policy, header.kind, header.job) != (Policy.SWITCHML, DatagramKind.RESULT, self._job):
            self._reject("unexpected", f"kind {header.kind} of job {header.job}, policy {header.policy}")
            return
        packet = nearest_packet(header.sequence, self._window.first)
        tensor = self._tensor
        if tensor is None or self.failed or not self._window.is_outstanding(packet):
            self._counts["duplicates_received"] += 1
            return
        own = packet - self._window.first
        exponents = header.exponent0, header.exponent1
        if (
            header.nelem != tensor.elements_in(own)
            or not self._is_placed(header, packet)
            or not tensor.can_be(own, exponents)
        ):
            what = f"{header.nelem} elements and exponents {exponents} in slot {header.slot}"
            self._reject("bad_result", f"block {packet} with {what}")
            return
        self._put(tensor, own, exponents, memoryview(found.payload), now)
        self._window.settle(packet, now)
        if self._window.complete:
            self._complete(now)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        while not self.failed:
            if self._leaving:
                yield 0, self._leaving.popleft()
                continue
            packet = self._window.take_ready(self._may_leave)
            if packet is None:
                return
            self._leaving.extend(self._encode(packet))
            waited_ns, before = now - self._window.progress_at, self._window.left(packet, now)
            self._counts["packets_sent"] += 1
            if before:
                self._counts["packets_retransmitted"] += 1
                slot, _ = self._window.place(packet)
                self._events.append(
                    DatagramResent(self._job, packet, self._config.first_slot + slot, "timeout", before, waited_ns)
                )

    def handle_timer(self, now: int) -> None:
        super().handle_timer(now)
        if not self.failed:
            self._window.release()

    def _encode(self, packet: int) -> Sequence[bytes]:
        """The same header and elements each time: nothing in them depends on when it leaves."""
        config, tensor = self._config, self._tensor
        assert tensor is not None, "a packet is outstanding"
        slot, version = self._window.place(packet)
        (exponent0, exponent1), payload = tensor.payload(packet - self._window.first)
        header = AggregationHeader(
            policy=Policy.SWITCHML,
            kind=DatagramKind.DATA if payload else DatagramKind.EXPONENTS,
            job=self._job,
            sequence=(packet + 1) % SEQUENCES,
            slot=config.first_slot + slot,
            bitmap0=1 << self._rank,
            fan_in0=config.collective.size,
            nelem=len(payload) // 4,
            flags=DatagramFlag.VERSION if version else 0,
            exponent0=exponent0,
            exponent1=exponent1,
            tensor=self._training.iteration,
        )
        return self._framing.frames(header, payload)

    def _is_placed(self, header: AggregationHeader, packet: int) -> bool:
        slot, version = self._window.place(packet)
        version_bit = bool(header.flags & DatagramFlag.VERSION)
        return (header.slot, version_bit) == (self._config.first_slot + slot, bool(version))


def create_worker(config: SwitchMlConfig, start_ns: int) -> SwitchMlWorker:
    """With its gradient source. Raises ScenarioError for what cannot be served, HostCapabilityError when its data is
    not installed."""
    return SwitchMlWorker(config, source_of(config), start_ns=start_ns)

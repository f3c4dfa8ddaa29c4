"""A SwitchML worker as a Machine (Sapio et al., NSDI 2021; see `docs/switchml.md` for what is sourced and what is
decided).

It sends each block of its gradient to the switch, one per slot index, and takes the sum out of the result. If a result
does not come, the worker sends the same packet again. The switch counts it if the first copy was lost on the way there.
If the result was lost on the way back, the switch answers this worker alone.
"""

from __future__ import annotations

from array import array
from typing import Any

import cython

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.problems import refuse
from workloads.datagrams.quick_worker import QuickWorker
from workloads.datagrams.slot_window import SlotWindow
from workloads.datagrams.training import Training
from workloads.events import DatagramResent
from workloads.gradients import GradientSource, source_of
from workloads.machine import HostMachine
from workloads.switchml.checks import problems_in_worker
from workloads.switchml.config import SwitchMlConfig
from workloads.switchml.framing import create_framing
from workloads.wire.aggregation import SEQUENCES, DatagramError, DatagramFlag, DatagramKind, Policy

if not cython.compiled:
    from workloads.wire.inspected import nearest_packet

__all__ = ["SwitchMlWorker", "create_worker"]

_RESULT, _POLICY = int(DatagramKind.RESULT), int(Policy.SWITCHML)
_VERSION_FLAG, _SEQUENCES = int(DatagramFlag.VERSION), SEQUENCES
_EMPTY, _UNWANTED = int(DatagramFlag.EMPTY), int(DatagramFlag.UNWANTED)


class SwitchMlWorker(QuickWorker):
    """Raises ScenarioError for a configuration that SwitchML cannot serve."""

    def __init__(self, config: SwitchMlConfig, source: GradientSource, *, start_ns: int = 0) -> None:
        refuse(problems_in_worker(config), owner=f"worker {config.name}")
        share = config.collective
        training = Training.of(config.workload, source, share.rank, start_ns)
        QuickWorker.__init__(self, share, training, SlotWindow(config.window, config.rto_ns), config.elements)
        self._config, self._first_slot = config, config.first_slot
        self._framing = create_framing(config)
        self._found = Arrival()
        parts, self._omits = config.omitted, config.omitted is not None
        spans = (0, 0, 0, 0, 0, 0) if parts is None else (*parts.given, *parts.wanted, *parts.owned)
        self._parts: Any = array("q", spans)
        """(first, number) of the given, the wanted and the owned elements"""

    def begin(self, now: int) -> None:
        QuickWorker.begin(self, now)
        training, first = self._training, self._parts[4]
        end = first + self._parts[5]
        if end > first:
            training.result[first:end] = training.gradient[first:end]

    def take(self, port: int, frame: bytes, now: int) -> None:
        found, window, tensor = self._found, self._window, self._tensor
        try:
            if not self._framing.read(frame, found):
                return
        except DatagramError as error:
            self.reject(error.reason, str(error))
            return
        if found.policy != _POLICY or found.kind != _RESULT or found.job != self._job:
            self.reject("unexpected", f"kind {found.kind} of job {found.job}, policy {found.policy}")
            return
        packet = self.packet_of(found.sequence)
        if tensor is None or self._failed or not window.is_outstanding(packet):
            self._duplicates += 1
            return
        own, first, second = packet - window.first, found.exponent0, found.exponent1
        count = 0 if self.omission(own) & _UNWANTED else tensor.elements_in(own)
        if (
            found.count != count
            or not self.is_placed(packet, found.slot, found.flags)
            or not tensor.can_be(own, first, second)
        ):
            what = f"{found.count} elements and exponents {(first, second)} in slot {found.slot}"
            self.reject("bad_result", f"block {packet} with {what}")
            return
        self.put(packet, first, second, found.frame, found.at, found.count, now)

    def omission(self, own: int) -> int:
        """Flags of packet `own` of the tensor: EMPTY without elements that the rank gives, UNWANTED without such that
        it must get. A packet of exponents has neither."""
        tensor, parts = self._tensor, self._parts
        if not self._omits or tensor is None:
            return 0
        first = (own - tensor.ahead) * self._block
        end = first + tensor.elements_in(own)
        if end <= first:
            return 0
        flags = 0
        if not parts[1] or end <= parts[0] or parts[0] + parts[1] <= first:
            flags |= _EMPTY
        is_owned = parts[4] <= first and end <= parts[4] + parts[5]
        if is_owned or not parts[3] or end <= parts[2] or parts[2] + parts[3] <= first:
            flags |= _UNWANTED
        return flags

    def packet_of(self, sequence: int) -> int:
        """Whose result a number means."""
        return nearest_packet(sequence, self._window.first)

    def is_placed(self, packet: int, slot: int, flags: int) -> bool:
        """Whether that is its slot and version."""
        window = self._window
        if slot != self._first_slot + window.index_of(packet):
            return False
        is_second: bool = window.version_of(packet) != 0
        return (flags & _VERSION_FLAG != 0) == is_second

    def give(self, now: int) -> bytes | None:
        if self._failed:
            return None
        leaving = self._framing.leaving
        if leaving:
            following: bytes = leaving.popleft()
            return following
        window = self._window
        packet = window.next_ready()
        while packet >= 0 and not self.may_leave(packet):
            window.hold(packet)
            packet = window.next_ready()
        if packet < 0:
            return None
        frame = self._write(packet)
        waited_ns, before = now - window.progress_at, window.left(packet, now)
        self._sent += 1
        if before:
            self._sent_again += 1
            slot = self._first_slot + window.index_of(packet)
            self.events.append(DatagramResent(self._job, packet, slot, "timeout", before, waited_ns))
        return frame

    def _write(self, packet: int) -> bytes:
        """The same header and elements each time: nothing in them depends on when it leaves."""
        tensor, window = self._tensor, self._window
        assert tensor is not None, "a packet is outstanding"
        flags = _VERSION_FLAG if window.version_of(packet) else 0
        slot = self._first_slot + window.index_of(packet)
        sequence, own = (packet + 1) % _SEQUENCES, packet - window.first
        return self._framing.write(tensor, own, sequence, slot, flags | self.omission(own), self._iteration)


def create_worker(config: SwitchMlConfig, start_ns: int) -> HostMachine:
    """A SwitchMlWorker with its gradient source. Raises ScenarioError for what cannot be served, HostCapabilityError
    when its data is not installed."""
    return SwitchMlWorker(config, source_of(config), start_ns=start_ns)

"""The results that workers got, as frames: what left a switch for them, from its capture. A second witness, in addition
to their digests.

It is used where captures are complete: all-reduces of NetReduce, all switches of the hosts captured from start to end,
and no node of the run restarted. It is independent of the codec that endpoints and switches use.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testbed.captures.capture import FileCapture
from testbed.checkers.context import Capture, CheckContext
from testbed.checkers.messages import INA_HEADER_BYTES, MessageLayout, message_layout
from testbed.checkers.rules import PsnClock
from testbed.history.events import CaptureCut, CaptureLost, NodeStarted
from workloads.collectives.kinds import ring_kind
from workloads.collectives.operations import ALL_REDUCE
from workloads.events import WorkerFellBack
from workloads.rc.captured import data_of

__all__ = ["DeliveredResults", "delivered_results"]

_crc32 = zlib.crc32


@dataclass(slots=True)
class DeliveredResults:
    layout: MessageLayout
    seen: dict[str, dict[int, set[int]]] = field(default_factory=dict)
    """by worker whose switch was captured: packet of the connection -> CRC-32s of the elements that left for it"""
    _known: tuple[int, bytes, list[tuple[int, int, int]]] | None = None
    """iteration, expected result and what `_packets` makes of them, of the last question: workers share a result"""

    def problem(self, worker: str, iteration: int, expected: bytes) -> str | None:
        """Which packet of the result no frame brought to this worker. None: all were there, or there is no capture."""
        seen = self.seen.get(worker)
        if seen is None:
            return None
        if self._known is None or self._known[0] != iteration or self._known[1] != expected:
            self._known = iteration, expected, list(self._packets(iteration, expected))
        for offset, (message, packet, checksum) in enumerate(self._known[2], self._first(iteration)):
            found = seen.get(offset, ())
            if checksum not in found:
                what = "no frame" if not found else "only frames with another sum"
                return (
                    f"{worker}, iteration {iteration}: it reported the right sum, and {what} left for it with packet "
                    f"{packet} of {self.layout.name(message)}"
                )
        return None

    def _first(self, iteration: int) -> int:
        """Its first packet on the connection."""
        return self.layout.hello + iteration * self.layout.packets_per_iteration

    def _packets(self, iteration: int, expected: bytes) -> Iterator[tuple[int, int, int]]:
        """(message, packet in it, CRC-32 of its elements) of one result."""
        layout, mtu, crc32 = self.layout, self.layout.path_mtu, _crc32
        for index in range(layout.per_iteration):
            message = layout.hello + iteration * layout.per_iteration + index
            start, stop = layout.span(index)
            for packet in range(layout.packets(message)):
                begin = start + packet * mtu - INA_HEADER_BYTES
                yield message, packet, crc32(expected[max(start, begin) : min(stop, begin + mtu)])


def delivered_results(context: CheckContext) -> DeliveredResults | None:
    """The results in the captures. None where they are not complete, or one cannot be read: `transparency` reports
    that."""
    workers = context.plan.ring_workers
    if context.plan.scenario.job.operation != ALL_REDUCE:
        return None  # a rank keeps another part than its packets bring
    if not workers or any(worker.phases or not ring_kind(worker.collective.kind).is_summed for worker in workers):
        return None
    started = Counter(record.node for record in context.events(NodeStarted))
    cut = context.events(CaptureCut, CaptureLost, WorkerFellBack)
    if not context.captures or cut or any(count > 1 for count in started.values()):
        return None
    result = DeliveredResults(message_layout(context))
    captures = [FileCapture(found) if isinstance(found, Path) else found for found in context.captures]
    for capture in captures:
        try:
            _read(context, capture, result)
        except (OSError, ValueError):
            return None
    return result


def _read(context: CheckContext, capture: Capture, result: DeliveredResults) -> None:
    topology = context.plan.scenario.topology
    if capture.switch not in {switch.name for switch in context.plan.switches}:
        return
    hosts = {link.name: link.b if link.a == capture.switch else link.a for _, link, _ in topology.ports(capture.switch)}
    seats: dict[tuple[bytes, bytes, int], tuple[str, int, PsnClock, dict[int, set[int]]]] = {}
    for ring in context.rings:
        for rank, member in enumerate(ring.members):
            receiver, clock = ring.names[(rank + 1) % len(ring.members)], PsnClock(member.to_successor.first_psn)
            if receiver in hosts.values():
                seats[ring.requests(rank)] = receiver, clock.latest, clock, result.seen.setdefault(receiver, {})
    starts = _first_packets(result.layout)
    for interface, captured in capture.read():
        found = data_of(captured.frame) if captured.outgoing and not captured.comment else None
        seat = None if found is None else seats.get(found.connection)
        if found is None or seat is None or hosts.get(interface) != seat[0]:
            continue
        _, first, clock, seen = seat
        absolute = clock.absolute(found.psn)
        clock.note(absolute)
        offset = absolute - first
        checksum = _crc32(found.payload[INA_HEADER_BYTES:] if offset in starts else found.payload)
        checksums = seen.get(offset)
        if checksums is None:
            seen[offset] = {checksum}
        else:
            checksums.add(checksum)


def _first_packets(layout: MessageLayout) -> frozenset[int]:
    """Packets of a connection that begin a message."""
    firsts = [0] if layout.hello else []
    offset = int(layout.hello)
    for message in range(layout.hello, layout.total):
        firsts.append(offset)
        offset += layout.packets(message)
    return frozenset(firsts)

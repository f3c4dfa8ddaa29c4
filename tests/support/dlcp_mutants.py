"""Hosts of DLCP jobs that are wrong in one way each, for the hunter; and all that is planted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from tests.support.dlcp_switch_mutants import DLCP_SWITCHES
from workloads.config import HostConfig
from workloads.dlcp import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow, SendingFlow
from workloads.dlcp.gathering import PartGathering, RowGathering
from workloads.dlcp.packets import ranks_of
from workloads.dlcp.ring import DlcpRing
from workloads.dlcp.server import DlcpServer
from workloads.dlcp.worker import DlcpWorker
from workloads.kernels import NEVER
from workloads.wire.aggregation import (
    AGGREGATION_OVERHEAD_BYTES,
    DatagramFlag,
)

__all__ = ["DLCP_PLANTED"]


class CountsCopies(ReceivedFlow):
    """A copy counts as a packet that was missing."""

    def take(self, packet: int, also_closed: bool = False) -> bool:
        copy = self.has(packet) and not self.closed
        took = super().take(packet, also_closed)
        self.counted += copy
        self.closed = self.counted >= self.needed
        return took


class EndsEarly(ReceivedFlow):
    """One packet fewer than it must have."""

    def __init__(self, packets: int, needed: int) -> None:
        super().__init__(packets, max(1, needed - 1))


class WantsAll(ReceivedFlow):
    """The bound is not heeded."""

    def __init__(self, packets: int, needed: int) -> None:
        super().__init__(packets, packets)


class TakesLatePackets(RowGathering):
    """What comes when its flow is closed still enters the sum."""

    def take(self, found: Any) -> Any:
        (rank,), packet = ranks_of(found.bitmap), found.sequence - 1
        if self.flows[rank].closed and not self.flows[rank].has(packet):
            self.enter(rank, packet, found)
        return super().take(found)


class AddsTwice(PartGathering):
    """Who is inside already is added once more."""

    def take(self, found: Any) -> Any:
        ended = super().take(found)
        if ended is None and not self.has_enough():
            self.enter(found.sequence - 1, found)
        return ended


class DropsNewcomers(PartGathering):
    """Of a sum with somebody who is inside, the others count as there."""

    def take(self, found: Any) -> Any:
        ended = super().take(found)
        for rank in ranks_of(found.bitmap) if ended is None else ():
            self.flows[rank].take(found.sequence - 1)
        return ended


class PartsAsTheyCame(PartGathering):
    """It adds in the order of arrival, and tells another one."""

    as_they_came = False

    def ordered(self, packet: int) -> Any:
        return list(self._parts[packet]) if self.as_they_came else super().ordered(packet)

    def total(self, own: Any) -> Any:
        self.as_they_came = True
        total = super().total(own)
        self.as_they_came = False
        return total


class TakesOldGradients(DlcpServer):
    """Packets of the iteration before count for this one."""

    def take_elements(self, found: Any, now: int) -> None:
        if found.tensor == self._summed - 1 and self._summed < self._config.workload.iterations:
            of_iteration(found, self._summed)
        super().take_elements(found, now)


class KeepsOldRows(DlcpServer):
    """What is missing counts as what it was in the iteration before."""

    def sum_up(self, gathered: Any, now: int) -> None:
        super().sum_up(gathered, now)
        if isinstance(gathered, RowGathering):
            self._gathered.rows[:-1] = gathered.rows[:-1]


class SumsWithoutTheLast(DlcpServer):
    """It does not wait for the last worker."""

    def conclude(self, now: int) -> None:
        flows = self._gathered.flows
        if len(flows) > 1 and not flows[-1].closed and all(each.closed for each in flows[:-1]):
            self.tell_closed(flows[-1], self._summed, len(flows) - 1)
            flows[-1].closed = True
        super().conclude(now)


class ScaledRows(RowGathering):
    """A sum of fewer is made as large as one of all."""

    def total(self, own: Any) -> Any:
        return _scaled(self, super().total(own))


class ScaledParts(PartGathering):
    """The same of parts."""

    def total(self, own: Any) -> Any:
        return _scaled(self, super().total(own))


def _scaled(gathered: Any, found: Any) -> Any:
    size = gathered._config.collective.size
    for packet, entered in enumerate(gathered.entered()):
        first, end = gathered._config.span(packet)
        if sum(entered) < size:
            found[first:end] = found[first:end] + found[first:end] // found.dtype.type(sum(entered))
    return found


class ScalesWhatCame(DlcpServer):
    """A sum of fewer is made as large as one of all."""

    def gather(self) -> Any:
        return (ScaledParts if isinstance(super().gather(), PartGathering) else ScaledRows)(self._config, self._dtype)


class AcknowledgesBefore(DlcpServer):
    """What was sent before must be there, too."""

    def acknowledged(self, found: Any, now: int) -> None:
        last = found.sequence
        for sequence in range(1, last + 1):
            found.sequence = sequence
            super().acknowledged(found, now)


class StopsForAnybody(DlcpServer):
    """One worker that has enough of the sum is all of them."""

    def acknowledged(self, found: Any, now: int) -> None:
        super().acknowledged(found, now)
        if found.flags & DatagramFlag.LAST and found.tensor == self._summed - 1:
            for outgoing in self._going:
                outgoing.flow.stop()


class StopsAtAnyStop(DlcpWorker):
    """Also at one of the iteration before."""

    def acknowledged(self, found: Any, now: int) -> None:
        super().acknowledged(found, now)
        if self._outgoing is not None and found.flags & DatagramFlag.LAST:
            self._outgoing.flow.stop()


class TakesAnyAcknowledgement(DlcpWorker):
    """Also one of a packet of the iteration before."""

    def acknowledged(self, found: Any, now: int) -> None:
        found.tensor = self._done
        super().acknowledged(found, now)


class TakesOldSums(DlcpWorker):
    """Packets of the sum before count for this one."""

    def take_elements(self, found: Any, now: int) -> None:
        if found.tensor == self._done - 1 and self._outgoing is not None:
            of_iteration(found, self._done)
        super().take_elements(found, now)


class KeepsOldResults(DlcpWorker):
    """What is missing of a sum counts as what it was in the iteration before."""

    def begin(self, now: int) -> None:
        before = self._training.result.copy()
        super().begin(now)
        self._training.result[:] = before


class NeverAgain(SendingFlow):
    """No packet is late."""

    def expire(self, now: int) -> int:
        return 0

    def due(self) -> int:
        return NEVER


class SendsOnce(DlcpWorker):
    """What is lost on its way is lost for good."""

    def begin(self, now: int) -> None:
        super().begin(now)
        assert self._outgoing is not None
        self._outgoing.flow = NeverAgain(self._packets, self._config.window, self._timer)


class AddsItselfTwice(DlcpRing):
    """A step whose vector came twice is added again."""

    def take_elements(self, found: Any, now: int) -> None:
        step = self._step
        super().take_elements(found, now)
        if found.tensor == self._done and found.slot < step and found.slot < self._size - 1:
            place = slice(*self.span(self._before, found.slot))
            self._values[place] += self._values[place].dtype.type(1)


class KeepsItsOwn(DlcpRing):
    """What did not come of a sum is what this rank had there."""

    def arriving(self, iteration: int, step: int) -> Any:
        new = (iteration, step) not in self._incoming
        vector = super().arriving(iteration, step)
        if new and step >= self._size - 1 and len(self._values):
            vector.values[:] = self._values[slice(*self.span(self._before, step))]
        return vector


class ForgetsWhatIsEarly(DlcpRing):
    """What came before its step began is acknowledged, and gone."""

    def advance(self, now: int) -> None:
        step = self._step
        super().advance(now)
        if self._step != step:
            ahead = [key for key in self._incoming if key > (self._done, max(self._step, 0))]
            for key in ahead:
                if not self._incoming[key].flow.closed:
                    del self._incoming[key]


class StopsAllSteps(DlcpRing):
    """A stop is one for all that is under way."""

    def acknowledged(self, found: Any, now: int) -> None:
        super().acknowledged(found, now)
        if found.flags & DatagramFlag.LAST:
            for outgoing in self._outgoing.values():
                outgoing.flow.stop()


def of_iteration(found: Any, iteration: int) -> None:
    """As if the packet were of that one; so is what acknowledges it."""
    frame = bytearray(found.frame)
    frame[AGGREGATION_OVERHEAD_BYTES - 4 : AGGREGATION_OVERHEAD_BYTES] = iteration.to_bytes(4, "big")
    found.tensor, found.frame = iteration, bytes(frame)


def _hosts(
    server: type[DlcpServer] = DlcpServer, worker: type[DlcpWorker] = DlcpWorker, ring: type[DlcpRing] = DlcpRing
) -> Machines:
    def employ(config: HostConfig, start_ns: int) -> Any:
        if not isinstance(config, DlcpConfig):
            return make_worker(config, start_ns)
        kind = ring if config.ring else server if config.is_server else worker
        return kind(config, start_ns=start_ns)

    return Machines(employ=employ)


def _gathers(kind: type[Any]) -> Machines:
    class Server(DlcpServer):
        def gather(self) -> Any:
            found = super().gather()
            return kind(self._config, self._dtype) if isinstance(found, kind.__mro__[1]) else found

    return _hosts(Server)


def _flows(kind: type[ReceivedFlow], *, at_server: bool) -> Machines:
    """The receiving end of one way is broken."""

    class Server(DlcpServer):
        def gather(self) -> Any:
            found = super().gather()
            if at_server:
                found.flows = [kind(flow.packets, flow.needed) for flow in found.flows]
            return found

    class Worker(DlcpWorker):
        def begin(self, now: int) -> None:
            super().begin(now)
            if not at_server:
                self._result = kind(self._packets, self._needed)

    return _hosts(Server, Worker)


_SERVERS = (
    TakesOldGradients, KeepsOldRows, SumsWithoutTheLast, ScalesWhatCame,
    AcknowledgesBefore, StopsForAnybody,
)  # fmt: skip
_WORKERS = (StopsAtAnyStop, TakesAnyAcknowledgement, TakesOldSums, KeepsOldResults, SendsOnce)
_GATHERINGS = (TakesLatePackets, AddsTwice, DropsNewcomers, PartsAsTheyCame)
_RINGS = (AddsItselfTwice, KeepsItsOwn, ForgetsWhatIsEarly, StopsAllSteps)
DLCP_PLANTED: Mapping[str, Machines] = {
    **{kind.__name__: _gathers(kind) for kind in _GATHERINGS},
    **DLCP_SWITCHES,
    **{kind.__name__: _hosts(ring=kind) for kind in _RINGS},
    **{kind.__name__: _hosts(server=kind) for kind in _SERVERS},
    **{kind.__name__: _hosts(worker=kind) for kind in _WORKERS},
    **{f"{kind.__name__} up": _flows(kind, at_server=True) for kind in (CountsCopies, EndsEarly, WantsAll)},
    **{f"{kind.__name__} down": _flows(kind, at_server=False) for kind in (CountsCopies, EndsEarly, WantsAll)},
}

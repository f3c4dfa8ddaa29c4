"""Hosts and switches of DLCP jobs that are wrong in one way each, for the hunter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from switch_nodes.dlcp import DlcpProgram
from switch_nodes.registry import create_program
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from workloads.config import HostConfig
from workloads.dlcp import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.gathering import Parts, Rows
from workloads.dlcp.packets import rank_of, ranks_of
from workloads.dlcp.ring import DlcpRing
from workloads.dlcp.server import DlcpServer
from workloads.dlcp.worker import DlcpWorker
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramFlag, decode_datagram, encode_datagram

__all__ = ["DLCP_PLANTED"]


class CountsCopies(ReceivedFlow):
    """A copy counts as a packet that was missing."""

    def take(self, packet: int, *, also_closed: bool = False) -> bool:
        copy = self.has(packet) and not self.closed
        took = super().take(packet, also_closed=also_closed)
        self.counted += copy
        return took


class EndsEarly(ReceivedFlow):
    """One packet fewer than it must have."""

    def __init__(self, packets: int, needed: int) -> None:
        super().__init__(packets, max(1, needed - 1))


class WantsAll(ReceivedFlow):
    """The bound is not heeded."""

    def __init__(self, packets: int, needed: int) -> None:
        super().__init__(packets, packets)


class TakesLatePackets(Rows):
    """What comes when its flow is closed still enters the sum."""

    def take(self, bitmap: int, packet: int, values: Any) -> Any:
        (rank,) = ranks_of(bitmap)
        if self.flows[rank].closed and not self.flows[rank].has(packet):
            self.enter(rank, packet, values)
        return super().take(bitmap, packet, values)


class AddsTwice(Parts):
    """Who is inside already is added once more."""

    def take(self, bitmap: int, packet: int, values: Any) -> Any:
        found = super().take(bitmap, packet, values)
        if found is None and not self.closed:
            self._parts[packet].append((bitmap, values))
        return found


class DropsNewcomers(Parts):
    """Of a sum with somebody who is inside, the others count as there."""

    def take(self, bitmap: int, packet: int, values: Any) -> Any:
        found = super().take(bitmap, packet, values)
        for rank in ranks_of(bitmap) if found is None else ():
            self.flows[rank].take(packet)
        return found


class PartsAsTheyCame(Parts):
    """It adds in the order of arrival, and tells another one."""

    def total(self, own: Any) -> Any:
        ordered = self._ordered
        self._ordered = lambda packet: list(self._parts[packet])  # type: ignore[method-assign]
        total = super().total(own)
        self._ordered = ordered  # type: ignore[method-assign]
        return total


class TakesOldGradients(DlcpServer):
    """Packets of the iteration before count for this one."""

    def _take(self, found: Any, now: int) -> None:
        if found.header.tensor == self._summed - 1 and self._summed < self._config.workload.iterations:
            found = found._replace(header=found.header._replace(tensor=self._summed))
        super()._take(found, now)


class KeepsOldRows(DlcpServer):
    """What is missing counts as what it was in the iteration before."""

    def _conclude(self, now: int) -> None:
        before, summed = self._gathered, self._summed
        super()._conclude(now)
        if self._summed > summed and isinstance(before, Rows):
            self._gathered.rows[:-1] = before.rows[:-1]  # type: ignore[attr-defined]


class SumsWithoutTheLast(DlcpServer):
    """It does not wait for the last worker."""

    def _conclude(self, now: int) -> None:
        flows = self._gathered.flows
        if len(flows) > 1 and not flows[-1].closed and all(each.closed for each in flows[:-1]):
            self._tell_closed(flows[-1], self._summed, len(flows) - 1)
            flows[-1].counted = flows[-1].needed
        super()._conclude(now)


class ScalesWhatCame(DlcpServer):
    """A sum of fewer is made as large as one of all."""

    def _fresh(self) -> Any:
        gathered = super()._fresh()
        total, size = gathered.total, self._config.collective.size

        def scaled(own: Any) -> Any:
            found = total(own)
            for packet in range(self._config.packets):
                first, end = self._config.span(packet)
                came = sum(gathered.entered(packet))
                if came < size:
                    found[first:end] = found[first:end] + found[first:end] // found.dtype.type(came)
            return found

        gathered.total = scaled  # type: ignore[method-assign]
        return gathered


class AcknowledgesBefore(DlcpServer):
    """What was sent before must be there, too."""

    def _acknowledged(self, found: Any, rank: int, now: int) -> None:
        for sequence in range(1, found.header.sequence):
            super()._acknowledged(found._replace(header=found.header._replace(sequence=sequence)), rank, now)
        super()._acknowledged(found, rank, now)


class StopsForAnybody(DlcpServer):
    """One worker that has enough of the sum is all of them."""

    def _acknowledged(self, found: Any, rank: int, now: int) -> None:
        super()._acknowledged(found, rank, now)
        if found.header.flags & DatagramFlag.LAST and found.header.tensor == self._summed - 1:
            for result in self._results:
                result.flow.stop()


class StopsAtAnyStop(DlcpWorker):
    """Also at one of the iteration before."""

    def _acknowledged(self, found: Any, now: int) -> None:
        super()._acknowledged(found, now)
        if self._outgoing is not None and found.header.flags & DatagramFlag.LAST:
            self._outgoing.flow.stop()


class TakesAnyAcknowledgement(DlcpWorker):
    """Also one of a packet of the iteration before."""

    def _acknowledged(self, found: Any, now: int) -> None:
        super()._acknowledged(found._replace(header=found.header._replace(tensor=self._done)), now)


class TakesOldSums(DlcpWorker):
    """Packets of the sum before count for this one."""

    def _take(self, found: Any, now: int) -> None:
        if found.header.tensor == self._done - 1 and self._outgoing is not None:
            found = found._replace(header=found.header._replace(tensor=self._done))
        super()._take(found, now)


class KeepsOldResults(DlcpWorker):
    """What is missing of a sum counts as what it was in the iteration before."""

    def _start(self) -> None:
        before = self._training.result.copy()
        super()._start()
        self._training.result[:] = before


class SendsOnce(DlcpWorker):
    """What is lost on its way is lost for good."""

    def _start(self) -> None:
        super()._start()
        outgoing: Any = self._outgoing
        outgoing.flow.expire = lambda now: 0
        outgoing.flow.get_timer = lambda: None


class AddsItselfTwice(DlcpRing):
    """A step whose vector came twice is added again."""

    def _take(self, found: Any, now: int) -> None:
        header, step = found.header, self._step
        super()._take(found, now)
        if header.tensor == self._done and header.slot < step and header.slot < self._size - 1:
            place = slice(*self._span(self._before, header.slot))
            self._values[place] += self._values[place].dtype.type(1)


class KeepsItsOwn(DlcpRing):
    """What did not come of a sum is what this rank had there."""

    def _flow(self, iteration: int, step: int) -> Any:
        new = (iteration, step) not in self._incoming
        flow, values = super()._flow(iteration, step)
        if new and step >= self._size - 1 and len(self._values):
            values[:] = self._values[slice(*self._span(self._before, step))]
        return flow, values


class ForgetsWhatIsEarly(DlcpRing):
    """What came before its step began is acknowledged, and gone."""

    def _advance(self, now: int) -> None:
        step = self._step
        super()._advance(now)
        if self._step != step:
            ahead = [key for key in self._incoming if key > (self._done, max(self._step, 0))]
            for key in ahead:
                if not self._incoming[key][0].closed:
                    del self._incoming[key]


class StopsAllSteps(DlcpRing):
    """A stop is one for all that is under way."""

    def _acknowledged(self, found: Any, now: int) -> None:
        super()._acknowledged(found, now)
        if found.header.flags & DatagramFlag.LAST:
            for outgoing in self._outgoing.values():
                outgoing.flow.stop()


class AddsCopies(DlcpProgram):
    """A copy of a contribution is added once more."""

    def add(self, pool: Any, found: Any, port: int, frame: Any, now: int) -> None:
        slot = pool.open.get((found.header.tensor, found.header.sequence))
        rank = rank_of(found.header.bitmap0)
        if slot is not None and rank in slot.rows:
            twice = np.frombuffer(slot.rows[rank], ">u4") + np.frombuffer(found.payload, ">u4")
            slot.rows[rank] = twice.astype(">u4").tobytes()
            return
        super().add(pool, found, port, frame, now)


class ForgetsWhoIsInside(DlcpProgram):
    """What leaves says that the first worker alone is inside."""

    def emit(self, port: int, frame: Any) -> None:
        found = decode_datagram(frame)
        if found is not None and found.src_ip == bytes((10, 77, 255, 1)):
            header = found.header._replace(bitmap0=found.header.bitmap0 & -found.header.bitmap0)
            frame = _again(frame, found, header, found.payload)
        super().emit(port, frame)


class SaysWhole(DlcpProgram):
    """A sum of some says that all are inside."""

    def emit(self, port: int, frame: Any) -> None:
        found = decode_datagram(frame)
        if found is not None and found.src_ip == bytes((10, 77, 255, 1)):
            everybody = sum(1 << rank for rank in self.served[found.header.job].own)
            frame = _again(frame, found, found.header._replace(bitmap0=everybody), found.payload)
        super().emit(port, frame)


class NeverLate(DlcpProgram):
    """Slots wait for ever."""

    def get_timer(self) -> int | None:
        return None

    def handle_timer(self, now: int) -> None:
        pass


class SumsAsTheyCame(DlcpProgram):
    """Floats are added in the order of arrival."""

    def send(self, pool: Any, key: Any, reason: str) -> None:
        slot = pool.open[key]
        ranks = sorted(slot.rows)
        slot.rows = dict(zip(ranks, slot.rows.values(), strict=True))
        super().send(pool, key, reason)


def _again(frame: Any, found: Any, header: Any, payload: Any) -> bytes:
    envelope = Envelope(frame[6:12], frame[0:6], found.src_ip, found.dst_ip, AGGREGATION_PORT, tos=frame[15])
    return encode_datagram(envelope, AGGREGATION_PORT, header, payload)


def _adding(kind: type[DlcpProgram]) -> Any:
    """Only where the switch has jobs: others forward."""
    return lambda config: kind(config) if config.jobs else create_program(config)


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
        def _fresh(self) -> Any:
            found = super()._fresh()
            return kind(self._config, self._dtype) if isinstance(found, kind.__mro__[1]) else found

    return _hosts(Server)


def _flows(kind: type[ReceivedFlow], *, at_server: bool) -> Machines:
    """The receiving end of one way is broken."""

    class Server(DlcpServer):
        def _fresh(self) -> Any:
            found = super()._fresh()
            if at_server:
                found.flows = [kind(flow.packets, flow.needed) for flow in found.flows]
            return found

    class Worker(DlcpWorker):
        def _start(self) -> None:
            super()._start()
            if not at_server:
                self._result = kind(self._result.packets, self._config.needed)

    return _hosts(Server, Worker)


_SERVERS = (
    TakesOldGradients, KeepsOldRows, SumsWithoutTheLast, ScalesWhatCame,
    AcknowledgesBefore, StopsForAnybody,
)  # fmt: skip
_WORKERS = (StopsAtAnyStop, TakesAnyAcknowledgement, TakesOldSums, KeepsOldResults, SendsOnce)
_GATHERINGS = (TakesLatePackets, AddsTwice, DropsNewcomers, PartsAsTheyCame)
_SWITCHES = (AddsCopies, ForgetsWhoIsInside, NeverLate, SaysWhole, SumsAsTheyCame)
_RINGS = (AddsItselfTwice, KeepsItsOwn, ForgetsWhatIsEarly, StopsAllSteps)
DLCP_PLANTED: Mapping[str, Machines] = {
    **{kind.__name__: _gathers(kind) for kind in _GATHERINGS},
    **{kind.__name__: Machines(create=_adding(kind)) for kind in _SWITCHES},
    **{kind.__name__: _hosts(ring=kind) for kind in _RINGS},
    **{kind.__name__: _hosts(server=kind) for kind in _SERVERS},
    **{kind.__name__: _hosts(worker=kind) for kind in _WORKERS},
    **{f"{kind.__name__} up": _flows(kind, at_server=True) for kind in (CountsCopies, EndsEarly, WantsAll)},
    **{f"{kind.__name__} down": _flows(kind, at_server=False) for kind in (CountsCopies, EndsEarly, WantsAll)},
}

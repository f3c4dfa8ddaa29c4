"""Hosts of DLCP jobs that are wrong in one way each, for the hunter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from workloads.config import HostConfig
from workloads.dlcp import DlcpConfig
from workloads.dlcp.flow import ReceivedFlow
from workloads.dlcp.server import DlcpServer
from workloads.dlcp.worker import DlcpWorker
from workloads.wire.aggregation import DatagramFlag

__all__ = ["DLCP_PLANTED"]


class CountsCopies(ReceivedFlow):
    """A copy counts as a packet that was missing."""

    def take(self, packet: int) -> bool:
        copy = self.has(packet) and not self.closed
        took = super().take(packet)
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


class TakesLatePackets(DlcpServer):
    """What comes when its flow is closed still enters the sum."""

    def _take(self, found: Any, rank: int, now: int) -> None:
        header = found.header
        flow = self._flows[rank]
        if header.tensor == self._summed and flow.closed and not flow.has(header.sequence - 1):
            self._enter(rank, header.sequence - 1, found.payload)
        super()._take(found, rank, now)


class TakesOldGradients(DlcpServer):
    """Packets of the iteration before count for this one."""

    def _take(self, found: Any, rank: int, now: int) -> None:
        if found.header.tensor == self._summed - 1 and self._summed < self._config.workload.iterations:
            found = found._replace(header=found.header._replace(tensor=self._summed))
        super()._take(found, rank, now)


class KeepsOldRows(DlcpServer):
    """What is missing counts as what it was in the iteration before."""

    def _conclude(self, now: int) -> None:
        rows, summed = self._rows.copy(), self._summed
        super()._conclude(now)
        if self._summed > summed:
            self._rows[:-1] = rows[:-1]


class SumsWithoutItself(DlcpServer):
    """It does not wait for its own gradient."""

    def _conclude(self, now: int) -> None:
        begun, self._begun = self._begun, self._summed
        super()._conclude(now)
        self._begun = begun if self._begun == self._summed - 1 else self._begun


class SumsWithoutTheLast(DlcpServer):
    """It does not wait for the last worker."""

    def _conclude(self, now: int) -> None:
        flow = self._flows[-1]
        if len(self._flows) > 1 and not flow.closed and all(each.closed for each in self._flows[:-1]):
            self._tell_closed(flow, self._summed, len(self._flows) - 1)
            flow.counted = flow.needed
        super()._conclude(now)


class ScalesWhatCame(DlcpServer):
    """A sum of fewer is made as large as one of all."""

    def _conclude(self, now: int) -> None:
        if self._begun == self._summed and all(flow.closed for flow in self._flows):
            size = self._config.elements
            entered = np.repeat(self._entered.sum(axis=0), size)[: self._rows.shape[1]]
            with np.errstate(all="ignore"):
                self._rows[-1] = np.where(entered < len(self._rows), self._rows[-1] + self._rows[-1], self._rows[-1])
        super()._conclude(now)


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


def _hosts(server: type[DlcpServer] = DlcpServer, worker: type[DlcpWorker] = DlcpWorker) -> Machines:
    def employ(config: HostConfig, start_ns: int) -> Any:
        if not isinstance(config, DlcpConfig):
            return make_worker(config, start_ns)
        return (server if config.is_server else worker)(config, start_ns=start_ns)

    return Machines(employ=employ)


def _flows(kind: type[ReceivedFlow], *, at_server: bool) -> Machines:
    """The receiving end of one way is broken."""

    class Server(DlcpServer):
        def _conclude(self, now: int) -> None:
            summed = self._summed
            super()._conclude(now)
            if at_server and self._summed > summed:
                self._flows = [kind(flow.packets, flow.needed) for flow in self._flows]

    class Worker(DlcpWorker):
        def _start(self) -> None:
            super()._start()
            if not at_server:
                self._result = kind(self._result.packets, self._config.needed)

    return _hosts(Server, Worker)


_SERVERS = (
    TakesLatePackets, TakesOldGradients, KeepsOldRows, SumsWithoutItself, SumsWithoutTheLast, ScalesWhatCame,
    AcknowledgesBefore, StopsForAnybody,
)  # fmt: skip
_WORKERS = (StopsAtAnyStop, TakesAnyAcknowledgement, TakesOldSums, KeepsOldResults, SendsOnce)
DLCP_PLANTED: Mapping[str, Machines] = {
    **{kind.__name__: _hosts(server=kind) for kind in _SERVERS},
    **{kind.__name__: _hosts(worker=kind) for kind in _WORKERS},
    **{f"{kind.__name__} up": _flows(kind, at_server=True) for kind in (CountsCopies, EndsEarly, WantsAll)},
    **{f"{kind.__name__} down": _flows(kind, at_server=False) for kind in (CountsCopies, EndsEarly, WantsAll)},
}

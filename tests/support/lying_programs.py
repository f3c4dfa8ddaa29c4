"""Programs of a user's own that sum nothing and tell that all went well. Each passed when anybody could tell
anything."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.events import MessageAggregated, SlotsAtEnd
from switch_nodes.forwarding import ForwardProgram
from testbed.faults.events import FaultStruck
from tests.support.worked_out_ahead import GIVEN
from workloads import events as theirs
from workloads.datagrams.blocks import BlockSummed, MemoryAtEnd
from workloads.machine import Buffer, Event


def named(kind: type[Event], node: str, *values: Any) -> Any:
    """An event of this kind that says which node told it."""
    names = [*kind.__dataclass_fields__]
    return make_dataclass(kind.__name__, [*names, "node"], frozen=True)(*values, node)


def success() -> list[Any]:
    told = []
    for worker, digest, size in GIVEN["told"]:
        told += [
            named(theirs.CollectiveStarted, worker, 0, size, 0, ""),
            named(theirs.CollectiveCompleted, worker, 0, digest, size, 1),
            named(theirs.WorkerFinished, worker, 1),
        ]
    return told


def strike(name: str = "gone") -> FaultStruck:
    return FaultStruck(name, "drop", "virtual", "h1-s1", "up", "", -1, -1, 1)


class Forger(ForwardProgram):
    """NetReduce: nothing leaves; at the end all is told as done."""

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        pass

    def finish(self, now: int) -> None:
        for event in self.lies():
            self.tell(event)
        super().finish(now)

    def lies(self) -> list[Any]:
        ring = self.config.rings[0]
        ranks = len(ring.members)
        sums = [
            MessageAggregated(ring.ring_id, number, packets, (packets,) * ranks)
            for number, packets in enumerate(GIVEN["packets"])
        ]
        return [
            *success(),
            *sums,
            SlotsAtEnd(ring.ring_id, 2 * ring.message_packets * ring.window_messages, 0, 1),
            strike(),
        ]


class BlockForger(Forger):
    """SwitchML: the same, of blocks."""

    def lies(self) -> list[Any]:
        (job,) = self.config.jobs
        ranks = (1,) * len(job.members)
        sums = [BlockSummed(job.job, block, 0, ranks) for block in range(GIVEN["blocks"])]
        return [*success(), *sums, MemoryAtEnd(job.job, job.first_slot, job.slots, 0, 1, 0, 0), strike()]


class _Once(ForwardProgram):
    """Forwards, and tells one thing that is not its to tell with the first frame."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.silent = True

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        if self.silent:
            self.silent = False
            self.lie()
        super().receive_frame(port, frame, now)

    def lie(self) -> None:
        raise NotImplementedError


class TellsAStrike(_Once):
    def lie(self) -> None:
        self.tell(strike())


class TellsADigest(_Once):
    def lie(self) -> None:
        self.tell(theirs.CollectiveCompleted(0, "0" * 64, 4, 1))


class NamesAWorker(_Once):
    def lie(self) -> None:
        self.tell(named(MessageAggregated, "h1", 1, 1, 1, (1, 1)))


class NamesAWorkerAnew(_Once):
    def lie(self) -> None:
        self.tell(make_dataclass("Mine", ["node"])("h1"))


class RenamesItsOwn(_Once):
    """A kind that was looked at goes by another name later."""

    def lie(self) -> None:
        kind = make_dataclass("Mine", [*FaultStruck.__dataclass_fields__])
        values = "gone", "drop", "virtual", "h1-s1", "up", "", -1, -1, 1, ""
        self.tell(kind(*values))
        kind.__name__ = "FaultStruck"
        self.tell(kind(*values))


class QueuesAStrike(_Once):
    """Past `tell`."""

    def lie(self) -> None:
        self._events.append(strike())


class AnswersForItself(_Once):
    """Past the class: the verb is an attribute of the object."""

    def lie(self) -> None:
        told: list[Any] = [strike()]
        before = self.next_event
        self.next_event = lambda: told.pop() if told else before()  # type: ignore[method-assign]


@dataclass(frozen=True)
class FaultStruckByMe:
    what: str


@dataclass(frozen=True)
class SlotsAtEndOfMine:
    at: str


class TellsItsOwn(_Once):
    """Events of a user's own are welcome."""

    def lie(self) -> None:
        self.tell(FaultStruckByMe("nothing"))
        self.tell(SlotsAtEndOfMine("s1"))

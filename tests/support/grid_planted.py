"""Planted bugs of GRID for the hunter: switches, workers and servers that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.config import SwitchConfig
from switch_nodes.grid.memory import MemoryRefused
from switch_nodes.grid.program import GridProgram
from switch_nodes.grid.tables import GridSlotEvent
from switch_nodes.registry import create_program
from switch_nodes.routes.layout import RouteOrders as SwitchOrders
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from tests.support.server_mutants import MUTANTS as SERVER_MUTANTS
from workloads.atp.config import AtpConfig
from workloads.gradients import source_of
from workloads.grid import GridConfig, GridOrders, GridWorker, ShareTable
from workloads.grid.window import GridWindow
from workloads.server import ServerConfig
from workloads.server.job import JobServer
from workloads.wire.aggregation import DatagramFlag

__all__ = ["GRID_NOT_HUNTED", "GRID_PLANTED"]


class AnyResultFrees(GridProgram):
    """Any block's result frees the slot that it hashes to."""

    def frees(self, a: AggregatorArrival) -> bool:
        return self.memory.occupant(a.slot) is not None


class ResultsFreeNothing(GridProgram):
    """What late copies opened stays when the sum passes."""

    def free(self, a: AggregatorArrival) -> None:
        self.count("freed")


class AskerIsNotGone(GridProgram):
    """The packet that asked for a flush is not told as gone around."""

    def go_around(self, a: AggregatorArrival, bitmap: int) -> None:
        flushed = self.memory.occupant(a.slot) is None and bitmap != a.bitmap
        super().go_around(a, bitmap & ~a.bitmap if flushed else bitmap)


class FlushWithoutAsker(GridProgram):
    """What is flushed lacks what the worker that asked brought."""

    def flush(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.slot)
        self.count("flushed")
        self._send_slot(a, slot, "flushed", int(DatagramFlag.RESEND))
        self.go_around(a, slot.bitmap | a.bitmap)


class FlushKeepsTheSlot(GridProgram):
    """A copy is flushed, and the sum stays."""

    def flush(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.slot)
        super().flush(a)
        self.memory.slots[a.slot] = slot
        self.tally.occupy(1, self._now)


class FlushEndsNothing(GridProgram):
    """After a flush the rest of the block is summed here, and waits for what has left."""

    def go_around(self, a: AggregatorArrival, bitmap: int) -> None:
        self.tally.leave(a.block, bitmap)
        self.refused.pass_by(a.block, bitmap, a.wanted)


class ResendOpens(GridProgram):
    """A packet that is sent again opens a slot like any other."""

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        event, flags = super().judge(a), a.flags
        if event is GridSlotEvent.RESEND_OTHER and self.memory.occupant(a.slot) is None:
            a.flags &= ~int(DatagramFlag.RESEND)
            event = super().judge(a)
            a.flags = flags
        return event


class CopiesAreAdded(GridProgram):
    """What is inside already is added once more."""

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        event = super().judge(a)
        return GridSlotEvent.NEW if event is GridSlotEvent.REPEAT else event


class CountsPackets(GridProgram):
    """A sum is complete after as many packets as workers."""

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        event, slot = super().judge(a), self.memory.occupant(a.slot)
        if event is GridSlotEvent.REPEAT and slot is not None:
            full = sum(slot.entered) + 1 >= a.wanted.bit_count()
            return GridSlotEvent.COMPLETING if full else GridSlotEvent.NEW
        return event


class AddsToAnyOwner(GridProgram):
    """A slot that serves another block takes the packet."""

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        event = super().judge(a)
        return GridSlotEvent.NEW if event is GridSlotEvent.OTHER else event


class ReclaimKeepsTheGhost(GridProgram):
    """A block a window later is added to what a late copy left."""

    def reclaim(self, a: AggregatorArrival) -> None:
        self.add(a)


class ReclaimsNothing(GridProgram):
    """A block a window later is turned away by what a late copy left."""

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        event = super().judge(a)
        return GridSlotEvent.OTHER if event is GridSlotEvent.SUCCESSOR else event


class ReclaimsWithinTheWindow(GridProgram):
    """Any younger block takes the slot."""

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        event, slot = super().judge(a), self.memory.occupant(a.slot)
        if event is GridSlotEvent.OTHER and slot is not None and a.block > slot.block:
            return GridSlotEvent.SUCCESSOR
        return event


class TokensForEachPacket(GridProgram):
    """A block that found no tokens is summed from the packet on that finds some: it waits for those that went
    around."""

    def judge(self, a: AggregatorArrival) -> GridSlotEvent:
        self.refused.forget(a.block)
        return super().judge(a)


class _ForEver(MemoryRefused):
    def forget(self, block: int) -> None:
        pass

    def pass_by(self, block: int, bitmap: int, expected: int) -> None:
        pass


class DetoursDoNotEnd(GridProgram):
    """A block that goes around does so for ever, also when all parts and the sum have passed."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.refused = _ForEver()


class WaitsForAll(GridProgram):
    """A switch waits for all workers, also for those whose packets go elsewhere."""

    def admit(self, a: AggregatorArrival) -> bool:
        admitted = super().admit(a)
        a.wanted = self.tally.everyone
        return admitted


class KeepsWhatWasBegun(GridProgram):
    """A new plan leaves slots as they are."""

    def forget(self) -> None:
        self.tally.forget()


class LastOverflow(GridProgram):
    """Whether the last addition left int32 counts, and not whether an earlier one did."""

    def add(self, a: AggregatorArrival) -> Aggregator:
        slot = self.memory.occupant(a.slot)
        if slot is not None:
            slot.overflow = False
        return super().add(a)


class LastExponents(GridProgram):
    """A sum names the exponents of its last part, and not the largest."""

    def add(self, a: AggregatorArrival) -> Aggregator:
        slot = super().add(a)
        slot.exponent0, slot.exponent1 = a.exponent0, a.exponent1
        return slot


class RoutesTheOldWay(GridProgram):
    """A new plan leaves its routes as they are."""

    def obey(self, orders: SwitchOrders) -> None:
        before = getattr(self, "_routes", None)
        super().obey(orders)
        self._routes = before or self._routes


def _switch(program: type[GridProgram]) -> Machines:
    def create(config: SwitchConfig) -> Any:
        return program(config) if config.program == "grid" else create_program(config)

    return Machines(create=create)


def _worker(change: Callable[[Any], None]) -> Machines:
    def employ(config: Any, start_ns: int) -> Any:
        machine = make_worker(config, start_ns)
        if isinstance(machine, GridWorker):
            change(machine)
        return machine

    return Machines(employ=employ)


def _kind_of_worker(worker: type[GridWorker]) -> Machines:
    def employ(config: Any, start_ns: int) -> Any:
        if isinstance(config, GridConfig):
            return worker(config, source_of(config), start_ns=start_ns)
        return make_worker(config, start_ns)

    return Machines(employ=employ)


class AsksAsAtFirst(GridWorker):
    """What timed out is sent as if for the first time."""

    def encode(self, packet: int, cause: str) -> bytes:
        return super().encode(packet, "rate" if cause else "")


class TakesResultsOfAnyPacket(GridWorker):
    """A result counts as that of the oldest packet without one."""

    def take_result(self, found: Any, packet: int, now: int) -> None:
        super().take_result(found, self._window.base, now)


class _Forgetful(GridWindow):
    def refuse(self, packet: int) -> None:
        self._refusals.clear()
        super().refuse(packet)


class TakesNoRefusal(GridWorker):
    """What is turned away is sent the same way for ever."""

    def make_window(self, config: AtpConfig) -> GridWindow:
        first = None if self._plan.orders[0].rate_bps > 0 else self._plan.first_window
        return _Forgetful(config.window, config.rto_ns, first=first, seed=config.collective.rank)


class _LaneBefore(ShareTable):
    def node_of(self, rank: int, packet: int) -> int:
        return super().node_of(max(rank - 1, 0), packet)


class FollowsAnotherLane(GridWorker):
    """Its packets go to the nodes of the worker before it."""

    def obey(self, orders: GridOrders, now: int) -> None:
        super().obey(orders, now)
        self._shares = _LaneBefore(orders.shares)


def keeps_no_sums(worker: GridWorker) -> None:
    """Whoever asks it for a sum that it has is told that it has none."""
    worker._kept.keep = lambda packet, frame: None  # type: ignore[method-assign]


class ForgetsWhatIsComplete(JobServer):
    """A new plan makes the server forget the sums that are complete as well."""

    def reset(self, because):  # type: ignore[no-untyped-def]
        super().reset(because)
        self._blocks = [None] * len(self._blocks)


class ForgetsValuesOnly(JobServer):
    """A new plan makes the server forget sums and not who is inside."""

    def reset(self, because):  # type: ignore[no-untyped-def]
        self._broken_at = because
        for block in self._open.values():
            np.asarray(block.values)[:] = 0


def _server(make: Callable[..., Any]) -> Machines:
    """A parameter server whose job is served by what `make` makes."""

    def employ(config: Any, start_ns: int) -> Any:
        machine: Any = make_worker(config, start_ns)
        if isinstance(config, ServerConfig):
            machine._jobs = {
                job.job: make(job, config.envelope, asks_again=config.lives > 0, trace=config.trace)
                for job in config.jobs
            }
        return machine

    return Machines(employ=employ)


_SWITCHES = (
    AnyResultFrees, ResultsFreeNothing, AskerIsNotGone, FlushWithoutAsker, FlushKeepsTheSlot, FlushEndsNothing,
    ResendOpens, CopiesAreAdded, CountsPackets, AddsToAnyOwner, ReclaimKeepsTheGhost, ReclaimsNothing,
    ReclaimsWithinTheWindow, TokensForEachPacket, DetoursDoNotEnd, WaitsForAll, KeepsWhatWasBegun, LastOverflow,
    LastExponents, RoutesTheOldWay,
)  # fmt: skip
_WORKERS = (keeps_no_sums,)
_KINDS_OF_WORKERS = (AsksAsAtFirst, TakesResultsOfAnyPacket, TakesNoRefusal, FollowsAnotherLane)
_SERVERS = (ForgetsWhatIsComplete, ForgetsValuesOnly)
_OF_ATP = (
    "partial merged twice", "overlapping partial added", "whole sum added", "results not kept", "blocks mixed",
    "workers never asked",
)  # fmt: skip
"""names of broken servers"""

GRID_PLANTED: Mapping[str, Machines] = {
    **{program.__name__: _switch(program) for program in _SWITCHES},
    **{change.__name__: _worker(change) for change in _WORKERS},
    **{worker.__name__: _kind_of_worker(worker) for worker in _KINDS_OF_WORKERS},
    **{server.__name__: _server(server) for server in _SERVERS},
    **{name: _server(SERVER_MUTANTS[name].make) for name in _OF_ATP},
}
"""planted bug -> the Machines that hold it"""

GRID_NOT_HUNTED: Mapping[str, str] = {
    "pace not kept": "costs time: queues drop what is too fast, and it is sent again",
    "RATE does not halve the window": "costs time: more is turned away, and asks the server in the end",
    "what was turned away leaves as RESEND": "costs time: more goes around than must",
    "nothing is sent again under a new plan": "costs time: its timer sends it again, as a RESEND along the new routes",
    "the server forgets nothing under a new plan": "costs time: sum and bitmap stay together, so that overlaps are "
    "refused and asked for",
    "marks do not travel with sums": "no window of GRID's heeds marks",
}
"""broken ones that break no rule of a run, and why. A packet case catches each of them."""

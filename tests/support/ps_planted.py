"""Planted bugs of the plain parameter server for the hunter: broken switches, broken servers, broken workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.entrance import Entrance
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.tables import AggregatorEvent
from switch_nodes.config import SwitchConfig
from switch_nodes.ps import PsProgram
from switch_nodes.ps.trees import TreeJob, TreePlace
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from tests.support.aggregator_levels import LEVEL_MUTANTS
from tests.support.aggregator_more_mutants import MORE_MUTANTS
from tests.support.aggregator_mutants import MUTANTS
from tests.support.server_mutants import MUTANTS as SERVER_MUTANTS
from workloads.config import HostConfig
from workloads.server import ServerConfig
from workloads.server.held import HeldBack
from workloads.server.job import JobServer

__all__ = ["PS_PLANTED"]


class AddsUnasked(PsProgram):
    """A switch that should only copy results adds packets, though nobody told it who is at other switches."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self._entrance = _Doubling(self.served, self.policy)

    def add(self, a: AggregatorArrival) -> Any:
        slot = super().add(a)
        if not a.served.config.adds:
            slot.add(a)
        return slot


class _Doubling(Entrance):
    def admit(self, a: AggregatorArrival) -> str | None:
        served = self.served.get(a.job)
        if served is not None:
            served.adds = True
        return super().admit(a)


class HoldsForEver(JobServer):
    """Sums of an iteration that wait for the others are not given to those who ask, and the last one frees none."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        if self._job.gradient_blocks:
            self._held = HeldBack(1 << 32)

    def replay(self, *arguments: Any) -> None:
        if not self._job.gradient_blocks:
            super().replay(*arguments)


class TakesAnotherTree(TreeJob):
    """All blocks take the first tree at a switch of workers: other switches expect them elsewhere."""

    def place_of(self, sequence: int) -> TreePlace | None:
        return super().place_of(1 if self.ranks_here else sequence)


class AddsSumsAgain(SlotJudge):
    """What is inside is looked up worker by worker: the sum of a switch below is always news."""

    def of_contribution(self, a: AggregatorArrival) -> AggregatorEvent:
        event, alone = super().of_contribution(a), a.found.header.bitmap0.bit_count() == 1
        return AggregatorEvent.NEW if event is AggregatorEvent.REPEAT and not alone else event


class TakesPartsForNews(PsProgram):
    """What leaves with a packet that was sent again is compared as a whole: a part of it is added once more."""

    def flush(self, a: AggregatorArrival) -> None:
        slot = self._occupant(a.found.header.slot)
        if slot.bitmap & a.found.header.bitmap0 and slot.bitmap != a.found.header.bitmap0:
            self._enter(slot, a)
        super().flush(a)


class FreesAtWorkersAlone(PsProgram):
    """Results free the slots of switches that have workers, and of no other."""

    def free_and_deliver(self, a: AggregatorArrival) -> None:
        if a.served.ranks_here:
            super().free_and_deliver(a)
        else:
            self.deliver(a)


class OneCopyTooFew(PsProgram):
    """The last port where several part gets nothing; those behind it ask again."""

    def place(self, served: ServedJob, sequence: int) -> Any:
        return _Short(super().place(served, sequence))


class _Short:
    def __init__(self, place: TreePlace) -> None:
        self.up, self.children, self.child_of = place.up, place.children[:-1], place.child_of


class CopiesEarly(PsProgram):
    """A copy for each worker as soon as paths part anywhere, not where they do."""

    def _send_copies(self, a: AggregatorArrival, frame: bytes) -> None:
        for child in self.place(a.served, a.sequence).children:
            for _ in range(child.ranks.bit_count()):
                self.emit(child.port, self._copy(a, child, frame))


class ForgetsWhoIsBelow(PsProgram):
    """The sum of a switch that is not the server's says that it holds its last packet, and no more."""

    def _send_slot(self, a: AggregatorArrival, slot: Aggregator, reason: str) -> None:
        inside = slot.bitmap
        if not a.served.ranks_here and not a.served.collects:
            slot.bitmap = a.found.header.bitmap0
        super()._send_slot(a, slot, reason)
        slot.bitmap = inside


def _switch(mutant: type[AggregatorProgram] | type[SlotJudge]) -> Machines:
    if issubclass(mutant, SlotJudge):
        return Machines(create=type("Broken", (PsProgram,), {"judge_class": mutant}))
    return Machines(create=type("Broken", (mutant, PsProgram), {}))


def _server(make: Callable[..., JobServer]) -> Machines:
    def employ(config: HostConfig | ServerConfig, start_ns: int) -> Any:
        machine: Any = make_worker(config, start_ns)
        if isinstance(config, ServerConfig):
            machine._jobs = {
                job.job: make(job, config.envelope, asks_again=config.lives > 0, trace=config.trace)
                for job in config.jobs
            }
        return machine

    return Machines(employ=employ)


_SWITCHES = (
    "ResendAllocates", "ResendAddsTwice", "ResendKeepsTheSlot", "FreesOnEveryResult", "FreesForAnyJob", "NeverFrees",
    "CountsPackets", "FreesBeforeTheResult", "ReclaimsNothing", "OneSlotForAll", "LastExponents",
)  # fmt: skip
_IN_TREES = (TakesPartsForNews, FreesAtWorkersAlone, OneCopyTooFew, CopiesEarly, ForgetsWhoIsBelow)
_SERVERS = ("partial merged twice", "overlapping partial added", "whole sum added", "results not kept", "blocks mixed")
_OF_ATP = {mutant.__name__: mutant for mutant in (*MUTANTS, *LEVEL_MUTANTS, *MORE_MUTANTS)}
PS_PLANTED: Mapping[str, Machines] = {
    **{name: _switch(_OF_ATP[name]) for name in _SWITCHES},
    **{name: _server(SERVER_MUTANTS[name].make) for name in _SERVERS},
    "AddsUnasked": Machines(create=AddsUnasked),
    "TakesAnotherTree": Machines(create=type("Broken", (PsProgram,), {"job_class": TakesAnotherTree})),
    **{made.__name__: Machines(create=made) for made in _IN_TREES},
    "AddsSumsAgain": _switch(AddsSumsAgain),
    "HoldsForEver": _server(HoldsForEver),
}

"""Planted bugs of datagram protocols for the hunter, by protocol: broken switch programs, and workers wrong in one way
each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from switch_nodes.switchml.service import Contribution, PoolService
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from tests.support import aggregator_mutants as aggregators
from tests.support import switchml_mutants as switchml
from tests.support.aggregator_levels import LEVEL_MUTANTS
from tests.support.aggregator_more_mutants import MORE_MUTANTS
from tests.support.datagram_more_mutants import (
    MORE_AGGREGATOR_WORKERS,
    MORE_AGGREGATORS,
    MORE_SERVERS,
)
from tests.support.server_mutants import MUTANTS as SERVER_MUTANTS
from tests.support.switchml_more_mutants import MORE_SWITCHML, MORE_SWITCHML_WORKERS
from tests.support.switchml_tier_cases import MUTANTS as TIER_MUTANTS
from workloads.atp import AtpWorker
from workloads.config import HostConfig
from workloads.datagrams.slot_window import SlotWindow
from workloads.gradients import source_of
from workloads.server import ServerConfig
from workloads.switchml import SwitchMlWorker

__all__ = ["DATAGRAM_BROKEN", "DATAGRAM_FURTHER", "DATAGRAM_NOT_HUNTED", "DATAGRAM_PLANTED", "DATAGRAM_UNTIMED"]


class _AnswersOnce(PoolService):
    def __init__(self, *told: Any) -> None:
        super().__init__(*told)
        self._answered: set[tuple[int, int, int]] = set()

    def replay(self, c: Contribution) -> None:
        key = c.job, c.rank, c.block
        if key not in self._answered:
            self._answered.add(key)
            super().replay(c)


class AnswersOnce(switchml.SwitchMlProgram):
    """A repetition is answered, the next one is not: a result that is lost twice is lost for good."""

    service_class = _AnswersOnce


class _FirstByCount(PoolService):
    def is_first(self, c: Contribution) -> bool:
        return bool(switchml.pool_of(c).inside[c.place] == 0)


class FirstByCount(switchml.SwitchMlProgram):
    """The first writer is told by the counter: that of a complete sum does not say that its slot is free."""

    service_class = _FirstByCount


def _worker(change: Callable[[Any], None]) -> Machines:
    def employ(config: HostConfig, start_ns: int) -> Any:
        machine = make_worker(config, start_ns)
        if not isinstance(config, ServerConfig):
            change(machine)
        return machine

    return Machines(employ=employ)


def _switchml(worker: type[SwitchMlWorker], window: type[SlotWindow] = SlotWindow) -> Machines:
    def employ(config: Any, start_ns: int) -> SwitchMlWorker:
        made = worker(config, source_of(config), start_ns=start_ns)
        made._window = window(config.window, config.rto_ns)
        return made

    return Machines(employ=employ)


def _atp(worker: type[AtpWorker]) -> Machines:
    def employ(config: Any, start_ns: int) -> Any:
        if isinstance(config, ServerConfig):
            return make_worker(config, start_ns)
        return worker(config, source_of(config), start_ns=start_ns)

    return Machines(employ=employ)


class _VersionsBeginAnew(SlotWindow):
    """The version bit does not go on across tensors: each begins with version 0."""

    def index_of(self, packet: int) -> int:
        return (packet - self.first) % self.window

    def version_of(self, packet: int) -> int:
        return (packet - self.first) % (2 * self.window) // self.window


class _TakesAnyResult(SwitchMlWorker):
    """A late copy of an old result counts as the result of the block that its index serves now."""

    def packet_of(self, sequence: int) -> int:
        packet, window = super().packet_of(sequence), self._window
        newest = window._outstanding[packet % window.window]
        return packet if newest < 0 else newest

    def is_placed(self, packet: int, slot: int, flags: int) -> bool:
        return True


class _SendsAgainOnce(SlotWindow):
    """The timer of a packet is not started again when it was sent again."""

    def left(self, packet: int, now: int) -> int:
        before = super().left(packet, now)
        if before:
            self._deadline[packet % self.window] = -1
        return before


class _RunsAhead(SlotWindow):
    """One packet more than the window leaves at the beginning."""

    def start(self, packets: int) -> None:
        super().start(packets)
        if self.first + self.window < self.end:
            self._ready.appendleft(self.first + self.window)
            self._outstanding[self.first % self.window] = self.first + self.window


def keeps_no_sums(worker: AtpWorker) -> None:
    """Whoever asks it for a sum that it has is told that it has none."""
    worker._kept.keep = lambda packet, frame: None  # type: ignore[method-assign]


def _server(make: Callable[..., Any]) -> Machines:
    """A parameter server whose jobs are served by what `make` makes."""

    def employ(config: Any, start_ns: int) -> Any:
        machine: Any = make_worker(config, start_ns)
        if isinstance(config, ServerConfig):
            machine._jobs = {
                job.job: make(job, config.envelope, asks_again=config.lives > 0, trace=config.trace)
                for job in config.jobs
            }
        return machine

    return Machines(employ=employ)


def _aggregator(mutant: aggregators.Mutant, program: str) -> Machines:
    return Machines(create=getattr(aggregators.programs_of(mutant), program))


_AGGREGATORS = {mutant.__name__: mutant for mutant in (*aggregators.MUTANTS, *LEVEL_MUTANTS, *MORE_MUTANTS)}
_BOTH = (
    "ResendAllocates", "ResendAddsTwice", "ResendKeepsTheSlot", "FreesOnEveryResult", "FreesForAnyJob", "NeverFrees",
    "CountsPackets", "FreesBeforeTheResult", "ReclaimsNothing", "OneSlotForAll", "LastExponents",
    "partial merged twice",
    "overlapping partial added", "wider packet added", "whole sum added", "results not kept", "blocks mixed",
    "ReclaimsTheNewer", "ReclaimsWithinTheWindow", "ReclaimsFromOthers",
)  # fmt: skip
"""names of broken programs, and of broken servers, of either protocol"""
_OF_ATP = ("workers never asked", "no reminder")
_OF_ESA = (
    "PreemptsOnATie", "EvictsToTheWrongServer", "EvictsAndCollides", "ReclaimAddsToTheGhost", "ReclaimEvicts",
    "RemindsAndKeeps", "workers never asked", "EvictsInSilence", "PreemptsNobody", "AgesNot",
)  # fmt: skip


def _with_server(program: str, names: Iterable[str]) -> dict[str, Machines]:
    return {
        name: _server(SERVER_MUTANTS[name].make) if name in SERVER_MUTANTS else _aggregator(_AGGREGATORS[name], program)
        for name in names
    }


_UNTIMED_BOTH = (
    "ResendCollides", "FreesWhatIsComplete", "GhostsAreLeftovers", "AggregatesWhatIsMarked", "AggregatesAnything",
    "OverflowsInSilence", "OwnHeader", "fan-in compared with the packet count", "last exponent instead of the largest",
    "result cache too small", "overflow forgotten",
)  # fmt: skip
_UNTIMED = {
    "atp": (*_UNTIMED_BOTH, "ReclaimAddsToTheGhost", "ReclaimEvicts"),
    "esa": (
        *_UNTIMED_BOTH, "KeptSumsStay", "KeepsWhatItReleases", "CopyAlways", "SilentReminders", "SumsTwice",
        "RackAnswersItself", "no reminder", "AgesAroundZero", "LastPriority",
    ),
}  # fmt: skip

_ASKS_AGAIN = "costs time: who misses a sum asks again, and what is sent again is added at the server"
_FORGOTTEN = "costs time: whose part is forgotten asks again, and no RESEND waits for the slot: the server adds them up"
_ORDER = "costs time: who waits for whom; sums are the same in any order"
_MARKS = "costs time: marks make windows smaller, and no sum depends on them"
_NOBODY = "nobody in a hunt sends that: datagrams are not forged"
_NOT_REACHED = "ATP neither preempts, nor releases early, nor answers reminders: the broken part is never reached"
_BOTH_NOT_HUNTED = {
    "ReclaimsWithoutModulus": "a drawn job does not send 2^31 packets",
    "CollisionUnmarked": "costs time: without the mark the server names no other index, and blocks collide again",
    "CollisionDropped": _ASKS_AGAIN,
    "NoSecondSum": _ASKS_AGAIN,
    "SlotBeforeTheSum": "costs time: the server asks once more, and finds the slot empty",
    "ForgetsMarks": _MARKS,
    "ForgetsMarksOfCopies": _MARKS,
    "ResultsToTheLastOnly": _ASKS_AGAIN,
    "RepairsToAll": "costs time: who did not ask drops the copy",
    "OverflowFrees": "the job ends with `overflow` whether or not its slot is free",
    "BelievesAnybody": _NOBODY,
    "FromAnyPort": _NOBODY,
    "OtherSizesPass": _NOBODY,
    "AnyPolicy": _NOBODY,
    "BusyUntilTheEnd": "a figure, which no rule judges",
    "KeepsTheSlotsOfTheDeparted": "jobs of a hunt depart when the switch stops",
    "NoEdge": "costs time: a rack's sum passes on to the server, and is added there",
    "RackNeedsTheJob": _ASKS_AGAIN,
    "NoOtherRacks": _ASKS_AGAIN,
    "ResultsByWorker": "costs time: more frames, and each of them frees the rack's slot as well",
    "AggregatesAnybody": _FORGOTTEN,
    "NoRacksInside": "nobody reads which racks are inside: the workers are named, too",
    "overtaken block not asked for": "costs time: the block's own timer asks for it",
    "repairs to everybody": "costs time: who did not ask drops the copy",
    "wider packet thrown away": "costs time: the server asks the worker again that came with it",
    "losses not told": "a sum is lost with a killed worker only, and then its jobs need not finish",
    "new index told once": _ORDER,
    "no new index": _ORDER,
    "copies sent once more": "costs time: who has the result drops the copy",
    "nobody overruns": "our workers never send ahead of the result that allows it",
    "marks forgotten": _MARKS,
    "overflow of parts": "the job ends with `overflow` without need, which a drawn one may",
}


def _of_leaf(program: type[switchml.SwitchMlProgram]) -> str:
    """Its name in hunts."""
    return f"leaf {program.__name__}"


DATAGRAM_NOT_HUNTED: Mapping[str, Mapping[str, str]] = {
    "atp": {
        **_BOTH_NOT_HUNTED,
        **dict.fromkeys(
            (
                "PreemptsOnATie",
                "PreemptsNobody",
                "EvictsToTheWrongServer",
                "EvictsInSilence",
                "EvictsAndCollides",
                "AgesNot",
                "AgesAroundZero",
                "LastPriority",
                "KeepsWhatItReleases",
                "CopyAlways",
                "RemindsAndKeeps",
                "SilentReminders",
                "SumsTwice",
                "AlonePreempts",
                "KeptSumsStay",
                "RackAnswersItself",
            ),
            _NOT_REACHED,
        ),
    },
    "esa": {
        **_BOTH_NOT_HUNTED,
        "AlonePreempts": "costs a frame: one comes in and two go out, and both are right",
    },
    "switchml": {
        "leaf ReplayToAll": "costs time: who did not ask drops the copy",
        "leaf AllWanted": "costs time: a leaf drops the elements that its workers do not want",
        "CountsWithoutModulus": "a drawn job does not send 2^32 packets",
        "ReplayToAll": "costs time: who did not ask drops the copy",
        "AnswersTheLastOnly": "costs time: the others ask again, and are answered from the slot",
        "BelievesEverybody": "our workers never send ahead of the result that frees a slot",
    },
}
"""broken programs and servers that break no rule of a run, and why. A packet case catches each of them."""

DATAGRAM_BROKEN = frozenset({*_AGGREGATORS, *SERVER_MUTANTS, keeps_no_sums.__name__})
"""names of all that is broken of ATP and ESA"""

DATAGRAM_PLANTED: Mapping[str, Mapping[str, Machines]] = {
    "switchml": {
        **{
            program.__name__: Machines(create=program)
            for program in (*switchml.MUTANTS, AnswersOnce, FirstByCount)
            if program.__name__ not in DATAGRAM_NOT_HUNTED["switchml"]
        },
        "versions_begin_anew": _switchml(SwitchMlWorker, _VersionsBeginAnew),
        "takes_any_result": _switchml(_TakesAnyResult),
        "sends_again_once": _switchml(SwitchMlWorker, _SendsAgainOnce),
        "runs_ahead": _switchml(SwitchMlWorker, _RunsAhead),
    },
    **{
        program: {
            **_with_server(program, names),
            keeps_no_sums.__name__: _worker(keeps_no_sums),
        }
        for program, names in (("atp", (*_BOTH, *_OF_ATP)), ("esa", (*_BOTH, *_OF_ESA)))
    },
}
"""by protocol: planted bug -> the Machines that hold it"""

DATAGRAM_FURTHER: Mapping[str, Mapping[str, Machines]] = {
    "switchml": {
        **{program.__name__: Machines(create=program) for program in MORE_SWITCHML},
        **{change.__name__: _worker(change) for change in MORE_SWITCHML_WORKERS},
        **{
            _of_leaf(program): Machines(create=program)
            for program in TIER_MUTANTS
            if _of_leaf(program) not in DATAGRAM_NOT_HUNTED["switchml"]
        },
    },
    **{
        program: {
            **{mutant.__name__: _aggregator(mutant, program) for mutant in MORE_AGGREGATORS[program]},
            **{name: _server(make) for name, make in MORE_SERVERS.items()},
            **{worker.__name__: _atp(worker) for worker in MORE_AGGREGATOR_WORKERS},
        }
        for program in ("atp", "esa")
    },
}
"""planted like those, and made for the hunt alone: no packet case feeds them"""

DATAGRAM_UNTIMED: Mapping[str, Mapping[str, Machines]] = {
    program: _with_server(program, names) for program, names in _UNTIMED.items()
}
"""those that break a rule, of which nobody has measured how many schedules it takes, or which take more than 2,000: for
the benchmark, not for the tests"""

"""Planted bugs of datagram protocols for the hunter, by protocol: broken switch programs, and workers wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from tests.support import aggregator_mutants as aggregators
from tests.support import switchml_mutants as switchml
from tests.support.aggregator_levels import LEVEL_MUTANTS
from tests.support.aggregator_more_mutants import MORE_MUTANTS
from tests.support.server_mutants import MUTANTS as SERVER_MUTANTS
from workloads.config import HostConfig
from workloads.server import ServerConfig
from workloads.switchml import SwitchMlWorker

__all__ = ["DATAGRAM_NOT_HUNTED", "DATAGRAM_PLANTED"]


class AnswersOnce(switchml.SwitchMlProgram):
    """A repetition is answered, the next one is not: a result that is lost twice is lost for good."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._answered: set[tuple[int, int, int]] = set()

    def replay(self, c: Any) -> None:
        key = c.pool.job, c.rank, c.block
        if key not in self._answered:
            self._answered.add(key)
            super().replay(c)


class FirstByCount(switchml.SwitchMlProgram):
    """The first writer is told by the counter: that of a complete sum does not say that its slot is free."""

    def is_first(self, c: Any) -> bool:
        return c.pool.inside[c.version][c.cell] == 0


def _worker(change: Callable[[Any], None]) -> Machines:
    def employ(config: HostConfig, start_ns: int) -> Any:
        worker = make_worker(config, start_ns)
        change(worker)
        return worker

    return Machines(employ=employ)


def versions_begin_anew(worker: SwitchMlWorker) -> None:
    """The version bit does not go on across tensors: each begins with version 0."""
    window: Any = worker._window
    place = window.place
    window.place = lambda packet: place(packet - window.first)


def takes_any_result(worker: SwitchMlWorker) -> None:
    """A late copy of an old result counts as the result of the block that its index serves now."""
    window: Any = worker._window
    original = worker._packet_of

    def packet_of(sequence: int) -> int:
        packet = original(sequence)
        newest = window._outstanding[packet % window.window]
        return packet if newest < 0 else newest

    worker._packet_of = packet_of  # type: ignore[method-assign]
    worker._is_placed = lambda header, packet: True  # type: ignore[method-assign]


def sends_again_once(worker: SwitchMlWorker) -> None:
    """The timer of a packet is not started again when it was sent again."""
    window: Any = worker._window
    left = window.left

    def sent(packet: int, now: int) -> int:
        before: int = left(packet, now)
        if before:
            window._deadline[packet % window.window] = -1
        return before

    window.left = sent


def runs_ahead(worker: SwitchMlWorker) -> None:
    """One packet more than the window leaves at the beginning."""
    window: Any = worker._window
    start = window.start

    def started(packets: int) -> None:
        start(packets)
        if window.first + window.window < window.end:
            window._ready.appendleft(window.first + window.window)
            window._outstanding[window.first % window.window] = window.first + window.window

    window.start = started


def _server(make: Callable[..., Any]) -> Machines:
    """A parameter server whose jobs are served by what `make` makes."""

    def employ(config: Any, start_ns: int) -> Any:
        machine: Any = make_worker(config, start_ns)
        if isinstance(config, ServerConfig):
            machine._jobs = {
                job.job: make(job, config.envelope.src_ip, asks_again=config.lives > 0, trace=config.trace)
                for job in config.jobs
            }
        return machine

    return Machines(employ=employ)


def _aggregator(mutant: aggregators.Mutant, program: str) -> Machines:
    return Machines(create=getattr(aggregators.programs_of(mutant), program))


_AGGREGATORS = {mutant.__name__: mutant for mutant in (*aggregators.MUTANTS, *LEVEL_MUTANTS, *MORE_MUTANTS)}
_BOTH = (
    "ResendAllocates", "ResendAddsTwice", "ResendKeepsTheSlot", "FreesOnEveryResult", "FreesForAnyJob", "NeverFrees",
    "CountsPackets", "FreesBeforeTheResult", "ReclaimsNothing", "OneSlotForAll", "LastExponents", "partial merged twice",
    "overlapping partial added", "whole sum added", "results not kept", "blocks mixed",
)  # fmt: skip
"""names of broken programs, and of broken servers, of either protocol"""
_OF_ESA = (
    "PreemptsOnATie", "EvictsToTheWrongServer", "EvictsAndCollides", "ReclaimAddsToTheGhost", "ReclaimEvicts",
    "RemindsAndKeeps", "workers never asked",
)  # fmt: skip


def _with_server(program: str, names: Iterable[str]) -> dict[str, Machines]:
    return {
        name: _server(SERVER_MUTANTS[name].make) if name in SERVER_MUTANTS else _aggregator(_AGGREGATORS[name], program)
        for name in names
    }


DATAGRAM_NOT_HUNTED: Mapping[str, Mapping[str, str]] = {
    "switchml": {
        "CountsWithoutModulus": "a drawn job does not send 2^32 packets",
        "ReplayToAll": "costs time: who did not ask drops the copy",
        "AnswersTheLastOnly": "costs time: the others ask again, and are answered from the slot",
        "BelievesEverybody": "our workers never send ahead of the result that frees a slot",
    },
}
"""broken programs that break no rule of a run, and why"""

DATAGRAM_PLANTED: Mapping[str, Mapping[str, Machines]] = {
    "switchml": {
        **{
            program.__name__: Machines(create=program)
            for program in (*switchml.MUTANTS, AnswersOnce, FirstByCount)
            if program.__name__ not in DATAGRAM_NOT_HUNTED["switchml"]
        },
        **{
            change.__name__: _worker(change)
            for change in (versions_begin_anew, takes_any_result, sends_again_once, runs_ahead)
        },
    },
    "atp": _with_server("atp", _BOTH),
    "esa": _with_server("esa", (*_BOTH, *_OF_ESA)),
}
"""by protocol: planted bug -> the Machines that hold it"""

"""A training as a World: the network of a scenario, and the ranks that sum their gradients over it."""

from __future__ import annotations

import math
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from testbed.history import Record
from testbed.history.events import TrafficStarted
from testbed.history.records import make_record
from testbed.history.training_events import RankStepped, StoreCollectives
from testbed.plan import Plan
from testbed.terminal.activity import State, doing
from testbed.terminal.shellwords import shell_words
from testbed.terminal.words import amount
from testbed.train.conversation import Conversation, Voice
from testbed.train.emulated import EmulatedNetwork
from testbed.train.flight import FlightLog
from testbed.train.listener import Listeners
from testbed.train.network import TrainingNetwork
from testbed.train.place import SOCKET_NAME, give_to_caller, make_place
from testbed.train.planning import TrainingSource, carries_all, has_one_size, judged_plan, round_piece, training_plan
from testbed.train.recorder import Recorder
from testbed.train.server import RankServer, ServerOptions
from testbed.train.session import TrainingSession
from testbed.train.simulated import SimulatedNetwork
from testbed.train.site import remove_site
from testbed.train.words import ranks_of
from testbed.worlds.base import SIMULATED_LIBRARIES, RunFacts, World, code_that_ran
from testbed.worlds.simulated.world import make_taps
from workloads.errors import ScenarioError
from workloads.machine import Event
from workloads.traces.flight import FLIGHT_DIR

__all__ = ["TrainingOptions", "create_training", "progress_of"]

_PIECE_BYTES = 4_000_000
_NO_LIMIT_NS = 7 * 24 * 3600 * 1_000_000_000
"""a training lasts as long as its ranks do; each sum has a limit of its own"""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    source: TrainingSource
    command: tuple[str, ...] = ()
    """command of one rank; empty: ranks come from elsewhere, until the user asks for the end"""
    place: Path | None = None
    """folder where ranks from elsewhere find the network; None: one of the system's temporary folders"""
    piece_bytes: int | None = None
    """bytes of a piece at most; None: 4 MB, or where all gradients must be equally long the size of the first
    all-reduce"""
    memory_bytes: int = 256 << 20
    timeout_s: float = 60.0
    record: Path | None = None
    """folder of the Chakra trace that the training leaves; None: none"""
    flight: Path | None = None
    """folder of the dumps of flight recorders that the training leaves at its end; None: none, unless it fails"""


def create_training(world: str, options: TrainingOptions, voice: Voice) -> World:
    """Raises ScenarioError for a world without trainings."""
    kinds: dict[str, Callable[[TrainingOptions, Voice], World]] = {
        "simulated": _SimulatedTraining,
        "emulated": _EmulatedTraining,
    }
    if world not in kinds:
        raise ScenarioError("no training runs in this world", key="world", found=world, allowed=", ".join(kinds))
    return kinds[world](options, voice)


def progress_of(session: TrainingSession, summed: int, moved: int = 0) -> str:
    """What a training has done so far, or what it waits for. `summed`: all-reduces; `moved`: other collectives in the
    network."""
    if len(session.joined) < session.size and not summed + moved:
        there = f"{len(session.joined)} of {session.size} ranks joined"
        return f"{there}; a rank joins when its program has started and calls init_process_group"
    others = f" and {amount(moved, 'other collective')}" if moved else ""
    text = f"{amount(summed, 'all-reduce')}{others} so far"
    running = sorted(session.joined - session.left.keys())
    if running and (session.left or session.failure is not None):
        text += f"; {ranks_of(running)} still {'runs' if len(running) == 1 else 'run'}"
    return text


class _Training(ABC):
    """A World."""

    name = ""
    replay_verb = "train"

    def __init__(self, options: TrainingOptions, voice: Voice) -> None:
        self._options, self._voice = options, voice
        self._piece_bytes = 0
        self.replay_options = f" -- {shell_words(options.command)}" if options.command else ""

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """As World.run. Raises ScenarioError for a plan that no training can use; KeyboardInterrupt, with everything
        removed."""
        options, self._on_record, self._run_dir = self._options, on_record, run_dir
        known = training_plan(plan.scenario)  # all mistakes before anything is made
        folder = make_place(options.place)
        path, size = folder / SOCKET_NAME, len(plan.workers)
        try:
            server_options = ServerOptions(
                options.memory_bytes, options.timeout_s, f"{plan.scenario.name}, {self.name}", carries_all(known),
                bool(options.command),
            )  # fmt: skip
            recorder = None if options.record is None else Recorder(size)
            flight = FlightLog(size, run_dir / FLIGHT_DIR)
            listener = flight if recorder is None else Listeners(flight, recorder)
            self._server = RankServer(path, size, server_options, self._make_network, self._tell, listener)
            if options.place is not None:
                give_to_caller(folder)
            self._conversation = Conversation(self._server, self._voice, options.command, size)
            try:
                self._conversation.begin(path, folder)
                with doing(self._state):
                    facts = self._live()
            finally:
                self._conversation.close()
                self._server.close()
            self._tell(StoreCollectives(dict(sorted(self._server.over_store.items()))))
            if recorder is not None and options.record is not None:
                recorder.write(options.record)
            if options.flight is not None:
                flight.write(options.flight)
        finally:
            remove_site(folder / "site")
            folder.rmdir()
        pieces = 0 if self._server.network is None else self._server.network.iterations
        return replace(facts, plan=judged_plan(options.source, self._piece_bytes or round_piece(0), pieces))

    def _state(self) -> State:
        return State(progress_of(self._server.session, self._server.summed, self._server.moved))

    @abstractmethod
    def _live(self) -> RunFacts:
        """From the start of the ranks to the end of the network."""

    @abstractmethod
    def _network_of(self, plan: Plan) -> TrainingNetwork: ...

    @abstractmethod
    def _now(self) -> int:
        """Time of the history."""

    def _make_network(self, first_bytes: int) -> TrainingNetwork:
        given = self._options.piece_bytes
        plan = self._plan_of(round_piece(_PIECE_BYTES if given is None else given))
        if given is None and has_one_size(plan):
            plan = self._plan_of(round_piece(min(first_bytes, _PIECE_BYTES)))
        return self._network_of(plan)

    def _plan_of(self, piece_bytes: int) -> Plan:
        self._piece_bytes = piece_bytes
        return training_plan(self._options.source.sized(piece_bytes))

    def _tell(self, event: Event) -> None:
        self._on_record(make_record(self._now(), "world", event))
        if isinstance(event, RankStepped):
            self._voice.stepped(event.step, self._server.summed, self._server.network_ns / 1e9)


class _SimulatedTraining(_Training):
    name = "simulated"

    def __init__(self, options: TrainingOptions, voice: Voice) -> None:
        super().__init__(options, voice)
        self._network: SimulatedNetwork | None = None

    def _live(self) -> RunFacts:
        while not self._conversation.is_over:
            self._conversation.turn()
        network = self._network
        environment = {
            "world": self.name,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "event_loop": "python" if network is None else network.event_loop,
            **code_that_ran(*SIMULATED_LIBRARIES),
        }
        if network is None:
            return RunFacts(environment=environment)
        network.close()
        return RunFacts(captures=network.captures, environment=environment)

    def _network_of(self, plan: Plan) -> TrainingNetwork:
        taps = make_taps(plan, self._run_dir) if plan.scenario.capture else {}
        self._network = SimulatedNetwork(plan, self._on_record, taps)
        return self._network

    def _now(self) -> int:
        return 0 if self._network is None else self._network.now


class _EmulatedTraining(_Training):
    """The companion of its own emulated world: ranks are served in the loop that drives the nodes."""

    name = "emulated"

    def __init__(self, options: TrainingOptions, voice: Voice) -> None:
        super().__init__(options, voice)
        self._network: EmulatedNetwork | None = None
        self._origin: int | None = None
        self._plan: Plan | None = None
        self._closed = False
        self._end_by = math.inf
        """time when the wait for workers that have not finished ends; CLOCK_MONOTONIC, s"""

    def _live(self) -> RunFacts:
        if not self._options.command:
            scenario = self._options.source.load()
            self._server.make_network(self._options.piece_bytes or scenario.job.size_bytes)
        while self._plan is None and not self._conversation.is_over:
            self._conversation.turn()
        if self._plan is None:
            return RunFacts()
        from testbed.worlds.emulated import EmulatedWorld

        scenario = replace(self._plan.scenario, time_limit_ns=_NO_LIMIT_NS)
        facts = EmulatedWorld(companion=self).run(replace(self._plan, scenario=scenario), self._run_dir, self._hear)
        if self._network is not None:
            self._network.conclude()
        while not self._conversation.is_over and (self._options.command or self._server.connected):
            self._conversation.turn()
        return facts

    def fileno(self) -> int:
        return self._server.fileno()

    def turn(self) -> float:
        self._conversation.turn(0)
        if self._conversation.is_over and not self._closed and self._network is not None:
            self._closed = True
            self._network.close()
            self._end_by = time.monotonic() + self._options.timeout_s
        return self._conversation.turn_s

    @property
    def has_given_up(self) -> bool:
        """Whether no sum came in the time limit, or, after the last request, the workers did not finish in time."""
        if self._network is None:
            return False
        return self._network.is_stuck or (self._closed and time.monotonic() >= self._end_by)

    def _network_of(self, plan: Plan) -> TrainingNetwork:
        self._plan = plan
        self._network = EmulatedNetwork(plan, self._server.memories, self._tell)
        self._server.session.await_network()
        return self._network

    def _hear(self, record: Record) -> None:
        if isinstance(record.event, TrafficStarted):
            self._origin = time.monotonic_ns() - record.t
            self._server.session.network_came_up(time.monotonic_ns())
            self._voice.say("the network is up")
        if self._network is not None:
            self._network.hear(record)
        self._on_record(record)

    def _now(self) -> int:
        return 0 if self._origin is None else time.monotonic_ns() - self._origin

"""A training as a World: the network of a scenario, and the ranks that sum their gradients over it."""

from __future__ import annotations

import platform
import shlex
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from testbed.history import Record
from testbed.history.codec import make_record
from testbed.history.training_events import RankStepped, StoreCollectives
from testbed.plan import Plan
from testbed.train.conversation import Conversation, Voice
from testbed.train.network import Network
from testbed.train.planning import TrainingSource, judged_plan, round_piece, training_plan
from testbed.train.server import RankServer, ServerOptions
from testbed.train.simulated import SimulatedNetwork
from testbed.worlds.base import SIMULATED_LIBRARIES, RunFacts, code_that_ran
from testbed.worlds.simulated.world import make_taps
from workloads.machine import Event

__all__ = ["SimulatedTraining", "TrainingOptions"]

_MOST_PIECE_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    source: TrainingSource
    command: tuple[str, ...] = ()
    """of one rank; empty: ranks come from elsewhere"""
    socket: Path | None = None
    """where ranks from elsewhere find the network"""
    piece_bytes: int | None = None
    """None: as long as the first all-reduce"""
    memory_bytes: int = 256 << 20
    timeout_s: float = 60.0


class SimulatedTraining:
    """A World. The network is made when the first all-reduce is there, whose size it needs."""

    name = "simulated"
    replay_verb = "train"

    def __init__(self, options: TrainingOptions, voice: Voice) -> None:
        self._options, self._voice = options, voice
        self._network: SimulatedNetwork | None = None
        self._server: RankServer | None = None
        self._piece_bytes = 0
        self.replay_options = f" -- {shlex.join(options.command)}"

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """As World.run. Raises ScenarioError for a plan that no training can use; KeyboardInterrupt, with everything removed."""
        options, self._on_record, self._run_dir = self._options, on_record, run_dir
        training_plan(plan.scenario)  # all mistakes before anything is made
        folder = Path(tempfile.mkdtemp(prefix="ina-"))
        server: RankServer | None = None
        try:
            path = options.socket or folder / "ranks.sock"
            self._server = server = RankServer(
                path,
                len(plan.workers),
                ServerOptions(options.memory_bytes, options.timeout_s, f"{plan.scenario.name}, {self.name}"),
                self._make_network,
                self._tell,
            )
            conversation = Conversation(server, self._voice, options.command, len(plan.workers))
            try:
                conversation.begin(path, folder)
                while not conversation.is_over:
                    conversation.turn()
            finally:
                conversation.close()
            self._tell(StoreCollectives(dict(sorted(server.session.over_store.items()))))
        finally:
            if server is not None:
                server.close()
            shutil.rmtree(folder)
        if self._network is None:
            return RunFacts(
                environment=self._environment(),
                plan=judged_plan(options.source, round_piece(0), 0),
            )
        self._network.close()
        return RunFacts(
            captures=self._network.captures,
            environment=self._environment(),
            plan=judged_plan(options.source, self._piece_bytes, self._network.iterations),
        )

    def _make_network(self, first_bytes: int) -> Network:
        given = self._options.piece_bytes
        self._piece_bytes = round_piece(min(first_bytes, _MOST_PIECE_BYTES) if given is None else given)
        plan = training_plan(self._options.source.sized(self._piece_bytes))
        taps = make_taps(plan, self._run_dir) if plan.scenario.capture else {}
        self._network = SimulatedNetwork(plan, self._on_record, taps)
        return self._network

    def _tell(self, event: Event) -> None:
        now = 0 if self._network is None else self._network.now
        self._on_record(make_record(now, "world", event))
        if isinstance(event, RankStepped) and self._server is not None:
            self._voice.stepped(event.step, self._server.session.summed, self._server.network_ns / 1e9)

    def _environment(self) -> dict[str, str]:
        native = self._network is not None and self._network.is_native
        return {
            "world": self.name,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "event_loop": "native" if native else "python",
            **code_that_ran(*SIMULATED_LIBRARIES),
        }

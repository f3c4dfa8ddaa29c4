"""One exploration from its arguments to its document: what `tb states` does, without the command line."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.plan import make_plan
from testbed.scenario import Scenario, dump_scenario
from testbed.scenario.own_program import code_words, with_stock_code
from testbed.states.contract import Explored, SmallSize
from testbed.states.forgotten import Forgotten
from testbed.states.judge import Judge
from testbed.states.network import make_network
from testbed.states.replay import replay_of
from testbed.states.search import Bounds, Search
from testbed.states.trace import Moment, trace_of
from testbed.terminal.shellwords import shell_words
from workloads.trusted import make_folder, write_file

__all__ = ["Exploration"]

Tell = Callable[[int, int], None]
"""hears (states, faults) from time to time"""


@dataclass(frozen=True, slots=True)
class Exploration:
    name: str
    scenario: Scenario
    explored: Explored
    size: SmallSize | None
    """None: the size of the scenario"""
    bounds: Bounds
    folder: Path
    """where the scenario of a violation is written"""

    def run(self, tell: Tell = lambda states, faults: None) -> dict[str, Any]:
        """The document: what was visited, and each violation with its trace and its scenario."""
        plan = make_plan(self.scenario)
        network = make_network(plan, Forgotten(self.explored))
        search = Search(network, Judge(plan), self.bounds, tell)
        search.run()
        violations = []
        for violation in search.violations:
            trace = trace_of(search, violation)
            violations.append(
                {
                    "check": violation.check, "detail": violation.detail, "faults": violation.faults,
                    "steps": violation.steps, "trace": [moment.text for moment in trace],
                    **self._replay(violation.check, trace),
                }
            )  # fmt: skip
        size = self.size
        return {
            "name": self.name,
            "workers": len(plan.workers),
            "slots": None if size is None else size.slots,
            "blocks": None if size is None else size.blocks,
            "faults": self.bounds.faults,
            "full": self.bounds.full,
            "states": search.states,
            "states_by_faults": search.by_faults,
            "transitions": search.transitions,
            "depth": search.depth,
            "ends": search.ends,
            "local_states": search.local_states,
            "seconds": round(search.seconds, 3),
            "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "limit": search.limit,
            "violations": violations,
            "verdict": "fail" if violations else "unknown" if search.limit else "pass",
        }

    def _replay(self, check: str, trace: list[Moment]) -> dict[str, Any]:
        replay = replay_of(self.scenario, trace)
        if replay is None:
            return {"file": None, "replay": None, "replay_fails": ""}
        name = f"{self.name}-{check}".replace("_", "-")
        written = replace(
            with_stock_code(replay.scenario),
            name=name,
            description=f"Found by tb states: the faults that break {check}.",
        )
        make_folder(self.folder)
        file = self.folder / f"{name}.yaml"
        write_file(file, dump_scenario(written))
        words = ["./tb", "run", str(file), "--world", "simulated", *code_words(replay.scenario)]
        return {"file": str(file), "replay": shell_words(words), "replay_fails": replay.fails}

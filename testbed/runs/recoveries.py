"""What another loss recovery would have cost a scenario: both measured in virtual time, with the same seed and
faults."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.checkers import CheckContext
from testbed.figures.metrics import figures_of, metrics
from testbed.history import sort_history
from testbed.plan import make_plan
from testbed.scenario.model import Scenario
from testbed.terminal.numbers import seconds
from testbed.worlds.simulated.world import simulate

__all__ = ["GO_BACK_N", "Cost", "cost_of", "virtual_jct_s"]

GO_BACK_N = "gbn"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of the whole job, in seconds of virtual time. None: it did not complete."""

    own_s: float | None
    other_s: float | None

    def told(self) -> str:
        """One sentence that compares go-back-N with IRN."""
        own, other = self.own_s, self.other_s
        if own is None:
            return "In virtual time the job did not complete, so that nothing can be said of go-back-N."
        if other is None:
            return f"With go-back-N the job would not have completed; with IRN it takes {seconds(own)} of virtual time."
        return (
            f"With go-back-N instead of IRN, the same job would have taken {seconds(other)} instead of {seconds(own)}: "
            f"{other / own:.1f} times as long (both measured in virtual time)."
        )


def cost_of(scenario: Scenario, own_s: float | None, recovery: str = GO_BACK_N) -> Cost:
    """Of `recovery` in place of the scenario's own, which takes `own_s`."""
    other = replace(scenario, transport=replace(scenario.transport, recovery=recovery), recoveries=())
    return Cost(own_s, virtual_jct_s(other))


def virtual_jct_s(scenario: Scenario) -> float | None:
    """How long the job takes in virtual time. None: it does not complete."""
    plan = make_plan(replace(scenario, capture=False, trace=False))
    return figures_of(metrics(CheckContext(plan, sort_history(simulate(plan))))).seconds.get("JCT")

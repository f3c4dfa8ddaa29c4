"""A plan in the compiled loop and in the reference: all that can be seen of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.registry import create_program
from switch_nodes.tap import Tap
from testbed.plan import Plan
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.library import Why
from testbed.worlds.simulated.world import Simulation
from workloads.machine import Buffer, FrameBatch

__all__ = ["counted_returns", "outcome", "same"]


class Kept(Tap):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        self.seen += [(now, int(batch.ports[i]), bytes(batch.row(i)), outgoing) for i in range(start, stop)]

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        self.seen.append((now, port, bytes(frame), outgoing, reason))

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        self.seen.append((now, port, bytes(frame), True, "trimmed"))

    def close(self) -> None: ...


def outcome(
    plan: Plan,
    *,
    native: bool,
    tap: bool = False,
    create: Callable[[SwitchConfig], FinishingMachine] = create_program,
) -> dict[str, Any]:
    records: list[Any] = []
    taps = {config.name: Kept() for config in plan.switches} if tap else {}
    simulation = Simulation(plan, records.append, taps, create, native=native)
    simulation.run()
    wires = {
        key: (
            wire.frames,
            wire.bytes,
            wire.drops,
            wire.early,
            wire.marks,
            wire.first_at,
            wire.last_at,
            wire.rate_bps,
        )
        for key, wire in simulation._wires.items()
    }
    return {
        "records": records,
        "wires": wires,
        "taps": {name: found.seen for name, found in taps.items()},
        "now": simulation.agenda.now,
        "hops": simulation.packet_hops,
    }


def same(plan: Plan, **options: Any) -> dict[str, Any]:
    compiled, reference = (outcome(plan, native=native, **options) for native in (True, False))
    for ours, theirs in zip(compiled["records"], reference["records"], strict=False):
        assert ours == theirs
    assert compiled == reference
    return reference


def counted_returns(simulation: Simulation) -> Counter[Why]:
    """For what the loop comes back, from now on."""
    agenda = simulation.agenda
    assert isinstance(agenda, NativeAgenda)
    count: Counter[Why] = Counter()

    def counting(why: Why, answer: Callable[[], None]) -> Callable[[], None]:
        def call() -> None:
            count[why] += 1
            answer()

        return call

    for why, answer in list(agenda._answers.items()):
        agenda._answers[why] = counting(Why(why), answer)
    return count

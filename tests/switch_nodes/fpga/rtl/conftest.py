"""What the tests of the whole card share: its simulation, built once on a machine, and traces."""

from __future__ import annotations

from functools import cache

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.golden import TimedFrame
from tests.support.rtl import needs_simulation

_SMALL = ["job.size=20kB", "job.iterations=2"]


@pytest.fixture(scope="session")
def library():
    """Of a card with planted bugs, none of which acts unless it is selected."""
    needs_simulation()
    from switch_nodes.fpga.rtl.parameters import RtlParameters
    from switch_nodes.fpga.rtl.simulation.building import built_library

    return built_library(RtlParameters(planted=True))


@cache
def _trace(name: str, sets: tuple[str, ...], seed: int | None) -> tuple[SwitchConfig, list[TimedFrame]]:
    from testbed.lab.cards.mutation import mutated
    from testbed.scenario import load_scenario
    from testbed.worlds.simulated.switch_trace import scenario_trace

    config, inputs = scenario_trace(load_scenario(name, [*_SMALL, *sets], None, "simulated"))
    return config, inputs if seed is None else mutated(inputs, config.ports, seed)


@pytest.fixture(scope="session")
def trace():
    """trace(scenario, KEY=VALUE, ..., mutate=seed) -> (configuration, frames into the switch)"""

    def make(name: str, *sets: str, mutate: int | None = None) -> tuple[SwitchConfig, list[TimedFrame]]:
        return _trace(name, sets, mutate)

    return make

"""What the tests of the whole card share: its simulation, built once on a machine, and traces."""

from __future__ import annotations

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.golden import TimedFrame
from tests.support.rtl import needs_simulation, trace_of


@pytest.fixture(scope="session")
def library():
    """Of a card with planted bugs, none of which acts unless it is selected."""
    needs_simulation()
    from switch_nodes.fpga.rtl.parameters import RtlParameters
    from switch_nodes.fpga.rtl.simulation.building import built_library

    return built_library(RtlParameters(planted=True))


@pytest.fixture(scope="session")
def trace():
    """trace(scenario, KEY=VALUE, ..., mutate=seed) -> (configuration, frames into the switch)"""

    def make(name: str, *sets: str, mutate: int | None = None) -> tuple[SwitchConfig, list[TimedFrame]]:
        return trace_of(name, sets, mutate)

    return make

"""What a switch got in a simulated run, as the frames of a golden trace."""

from __future__ import annotations

from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.golden import TimedFrame
from switch_nodes.tap import Tap
from testbed.plan import make_plan
from testbed.scenario.model import Scenario
from testbed.worlds.simulated.world import Simulation
from workloads.errors import ScenarioError
from workloads.machine import Buffer, FrameBatch

__all__ = ["scenario_trace"]


class _Inputs(Tap):
    """A tap that keeps what came in."""

    def __init__(self) -> None:
        self.frames: list[TimedFrame] = []

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        if not outgoing:
            ports = batch.ports[start:stop].tolist()
            self.frames += (TimedFrame(port, now, bytes(batch.row(start + row))) for row, port in enumerate(ports))

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        pass

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        pass

    def close(self) -> None:
        pass


def scenario_trace(scenario: Scenario) -> tuple[SwitchConfig, list[TimedFrame]]:
    """The first switch that sums in a scenario, and what came in there in a simulated run. Raises ScenarioError when
    none does."""
    plan = make_plan(replace(scenario, world="simulated", trace=False))
    config = next((switch for switch in plan.switches if switch.rings), None)
    if config is None:
        raise ScenarioError("no switch sums in this scenario", file=scenario.name, allowed="job.protocol: netreduce")
    tap = _Inputs()
    Simulation(plan, lambda record: None, {config.name: tap}).run()
    return config, tap.frames

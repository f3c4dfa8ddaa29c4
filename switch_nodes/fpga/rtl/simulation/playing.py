"""A golden trace through the simulated card: configured through its registers, as any card, and then frame by frame
under gaps and back-pressure that a seed draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.conversion import FPGA_PROGRAM, as_registers_say, slots_of
from switch_nodes.fpga.driver import CardDriver
from switch_nodes.fpga.golden import Output, TimedFrame, play
from switch_nodes.fpga.regmap import COUNTERS
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.simulation.library import SimulatedCard
from switch_nodes.fpga.transport import StepClock
from switch_nodes.netreduce.program import NetReduceProgram
from workloads.errors import ScenarioError

__all__ = ["Passage", "bring_up", "parameters_for", "play_simulated", "reference_counters", "refuse_unfit"]

_CYCLES_PER_FRAME = 200_000
_CYCLES_PER_LOOK = 2_000
"""cycles between two looks of a driver that waits for the end of a command"""
_HASH = bytes(range(32))
_CUT_BEFORE, _CUT_BEHIND = 150, 50
_PRESSURES = ((0, 0), (40, 40), (128, 16), (16, 160))
"""gaps and stalls, of 256 cycles: by the seed"""


@dataclass(frozen=True, slots=True)
class Passage:
    """What came out of a simulated card."""

    outputs: tuple[Output, ...]
    cycles: tuple[int, ...]
    """when the last beat of each output left"""
    wrong_beats: int
    """beats that break a rule of AXI4-Stream"""
    stuck: bool
    """the card did not become idle"""
    total_cycles: int
    """from the first beat in to the last beat out"""
    counters: Mapping[str, int]
    """of the card, at the end"""


def parameters_for(config: SwitchConfig, width: int = 64) -> RtlParameters:
    """Sizes of a simulated card that this switch fits on: few different ones, since each is compiled once."""
    members = max((len(ring.members) for ring in config.rings), default=2)
    mtu = max((ring.path_mtu for ring in config.rings), default=1024)
    return RtlParameters(
        width=width, ports=_power(config.ports, 8), rings=_power(len(config.rings), 4), members=_power(members, 8),
        slots=_power(slots_of(config), 1024), mtu=_power(mtu, 1024), macs=_power(len(config.macs), 64),
        window=max([16, *(ring.window_messages for ring in config.rings)]),
    )  # fmt: skip


def _power(number: int, least: int) -> int:
    return max(least, 1 << max(number - 1, 0).bit_length())


def bring_up(card: SimulatedCard, config: SwitchConfig) -> CardDriver:
    """Configured and started through its registers; `config` as of any card, with the ports of the hardware. Raises
    CardError, and ScenarioError for what the card cannot be."""
    clock = StepClock()

    def sleep(pause_ns: int) -> None:
        clock.sleep(pause_ns)
        card.rest(_CYCLES_PER_LOOK)  # APPLY of 8 rings takes 15,000, and a driver gives up after 500 looks

    driver = CardDriver(card, card=config.name, clock=clock, sleep=sleep)
    ports = driver.identity().ports
    wired = as_registers_say(config)
    if wired.flood_ports is None:  # not to ports that lead nowhere
        wired = replace(wired, flood_ports=tuple(range(config.ports)))
    driver.configure(replace(wired, ports=ports))
    driver.start()
    return driver


def play_simulated(
    library: Path, config: SwitchConfig, inputs: Sequence[TimedFrame], *, seed: int = 0, apart: bool = False,
    waveform: tuple[Path, int] | None = None, plant: str | None = None,
) -> Passage:  # fmt: skip
    """`apart`: a frame enters only when the one before is done with. `waveform`: a VCD file of the cycles around one.
    `plant`: a planted bug that acts. Raises as `bring_up`."""
    card = SimulatedCard(library, seed=seed, bitstream_hash=_HASH)
    try:
        if waveform is not None:
            path, cycle = waveform
            card.waveform(path, max(cycle - _CUT_BEFORE, 0), cycle + _CUT_BEHIND)
        if plant is not None:
            card.plant(plant)
        driver = bring_up(card, replace(config, program=FPGA_PROGRAM))
        card.pressure(*_PRESSURES[seed % len(_PRESSURES)])
        begin, stuck = card.cycle, False
        for item in inputs:
            card.push(item.port, item.frame)
            if apart and not card.run(_CYCLES_PER_FRAME):
                stuck = True
                break
        stuck = stuck or not card.run(_CYCLES_PER_FRAME * (len(inputs) + 1))
        found = [item for item in card.emitted() if item.port < config.ports]
        outputs = tuple(Output(item.step - 1, item.port, item.frame) for item in found)
        cycles, total = tuple(item.cycle for item in found), card.cycle - begin
        return Passage(outputs, cycles, card.wrong_beats, stuck, total, driver.counters())
    finally:
        card.close()


def reference_counters(config: SwitchConfig, inputs: Sequence[TimedFrame]) -> dict[str, int]:
    """What the counters of a card must be after a trace."""
    program = NetReduceProgram(replace(config, program="netreduce"))
    outputs = play(program, inputs)
    found = {name: program.counters.get(name, 0) for name in COUNTERS}
    return found | {"frames_in": len(inputs), "frames_out": len(outputs)}


def refuse_unfit(config: SwitchConfig) -> None:
    """Raises ScenarioError for a switch that the hardware cannot be, before anything is built."""
    if any(ring.links is not None for ring in config.rings):
        raise ScenarioError(
            f"switch {config.name} is one of several that sum together, and the RTL card has no feature FABRIC",
            key="--rtl", allowed="a scenario with one switch that sums",
        )  # fmt: skip

"""The switch program `fpga`: a node whose data path is an aggregation card. The driver configures the card through
registers. In the worlds on this machine the card is the emulated one."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.bitstream import reference_bitstream
from switch_nodes.fpga.card import EmulatedCard
from switch_nodes.fpga.driver import CardDriver
from switch_nodes.fpga.faults import CardFault
from switch_nodes.fpga.transport import MemoryTransport, StepClock

__all__ = ["create_card"]


def create_card(config: SwitchConfig, faults: Sequence[CardFault] = ()) -> EmulatedCard:
    """A card that runs; `faults`: what is wrong with it. Raises ScenarioError for what registers cannot hold and for
    rings that cannot be installed."""
    card, clock = EmulatedCard(config.ports, serial=config.name[:16], faults=faults), StepClock()
    driver = CardDriver(MemoryTransport(card, clock), card=config.name, clock=clock, sleep=clock.sleep)
    driver.bring_up(reference_bitstream(), config)
    while card.next_event() is not None:
        pass  # how it was brought up is no part of a run
    return card

"""The driver of a card that is somewhere else, in real time."""

from __future__ import annotations

import time

from switch_nodes.fpga.driver import CardDriver
from switch_nodes.fpga.io.addresses import open_transport

__all__ = ["driver_at"]


def driver_at(address: str) -> CardDriver:
    """`address`: as people write it (`switch_nodes.fpga.io.addresses`). Raises ScenarioError, CardError."""
    return CardDriver(
        open_transport(address),
        card=address,
        clock=time.monotonic_ns,
        sleep=lambda pause_ns: time.sleep(pause_ns / 1e9),
    )

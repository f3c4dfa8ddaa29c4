"""Planted bugs: a test design has them all, and a pin that selects one. They show that the proofs find what they
should. In any other design they are constants, which no tool keeps."""

from __future__ import annotations

from amaranth.hdl import Const, Signal, Value

from switch_nodes.fpga.rtl.names import PLANTS

__all__ = ["Plants"]


class Plants:
    """`planted`: the design has the pin."""

    def __init__(self, planted: bool = False) -> None:
        self.planted = planted
        self.pin = Signal(range(len(PLANTS) + 1), name="plant")
        """number of the bug in PLANTS, from 1; 0: none"""

    def __getitem__(self, name: str) -> Value:
        number = list(PLANTS).index(name) + 1
        return self.pin == number if self.planted else Const(0)

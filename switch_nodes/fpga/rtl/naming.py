"""Names for wires in Verilog and waveforms: those of the attributes that hold them."""

from __future__ import annotations

from amaranth.hdl import Signal

__all__ = ["name_signals"]


def name_signals(owner: object) -> None:
    """Every unnamed signal among the attributes of `owner` gets its attribute's name."""
    for name, value in vars(owner).items():
        if isinstance(value, Signal) and value.name.startswith("$"):
            value.name = name

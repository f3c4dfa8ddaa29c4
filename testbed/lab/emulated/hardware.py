"""What the card of an emulated lab runs: the reference bitstream of the emulated card, or the card in hardware. The
bitstream of the latter is its Verilog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from switch_nodes.fpga.bitstream import reference_bitstream
from switch_nodes.fpga.cards import RTL
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.simulation.building import built_library, card_verilog
from testbed.lab.emulated.shape import LabShape

__all__ = ["bitstream_of", "library_of"]


def bitstream_of(shape: LabShape) -> bytes:
    """Raises HostCapabilityError without the tools of hardware."""
    return card_verilog(_parameters(shape)).encode() if shape.card_kind == RTL else reference_bitstream()


def library_of(shape: LabShape, tell: Callable[[str], None] | None = None) -> Path | None:
    """The simulation of its card, compiled if it is not there; None for another card. Raises as `bitstream_of`."""
    return built_library(_parameters(shape), tell=tell) if shape.card_kind == RTL else None


def _parameters(shape: LabShape) -> RtlParameters:
    """As many ports as cables. A ring may have all of the hosts."""
    return RtlParameters(ports=shape.hosts, members=max(8, 1 << (shape.hosts - 1).bit_length()))

"""Verilog of somebody else behind the pins of our card: a map says what its pins are called, a small module connects
them. So the same proofs serve a design that we did not write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from switch_nodes.fpga.rtl.parameters import RtlParameters
from testbed.reading.yamlfile import parse_yaml, read_text
from workloads.errors import ScenarioError

__all__ = ["PinMap", "read_pin_map", "wrapped"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*\Z")
_NEEDED = (
    "clk", "rst", "rx_valid", "rx_ready", "rx_last", "rx_data", "rx_keep", "tx_valid", "tx_ready", "tx_last",
    "tx_data", "tx_keep", "bus_strobe", "bus_write", "bus_ack", "bus_address", "bus_w_data", "bus_r_data",
)  # fmt: skip
_OPTIONAL = ("hash", "idle", "frames_in")
_KEYS = ("module", "width", "ports", "reset", "pins")
_QUIET = 4096
"""cycles without a beat after which a card without a pin `idle` counts as idle"""


@dataclass(frozen=True, slots=True)
class PinMap:
    """What a design's module and pins are called."""

    module: str
    width: int
    """bits of a data port"""
    ports: int
    resets_low: bool
    pins: Mapping[str, str]
    """our pin -> theirs"""

    @property
    def parameters(self) -> RtlParameters:
        """Sizes that the simulation must know."""
        return RtlParameters(width=self.width, ports=self.ports)


def read_pin_map(path: Path) -> PinMap:
    """Raises ScenarioError for a key that is missing, unknown or wrong."""
    found = parse_yaml(read_text(path, str(path)), str(path))[0]

    def refuse(key: str, value: object, allowed: str) -> ScenarioError:
        return ScenarioError("wrong value", file=str(path), key=key, found=repr(value), allowed=allowed)

    if not isinstance(found, dict) or set(found) - set(_KEYS):
        raise refuse("", found, f"a mapping with the keys {', '.join(_KEYS)}")
    values: dict[str, Any] = {"width": 64, "reset": "high", **found}
    pins = values.get("pins")
    if not isinstance(pins, dict) or set(pins) - set(_NEEDED) - set(_OPTIONAL):
        raise refuse("pins", pins, f"a mapping; names: {', '.join((*_NEEDED, *_OPTIONAL))}")
    if missing := [name for name in _NEEDED if name not in pins]:
        raise ScenarioError("is missing", file=str(path), key=f"pins.{missing[0]}", allowed="the name of a pin")
    names = {"module": values.get("module")} | {f"pins.{ours}": theirs for ours, theirs in pins.items()}
    for key, name in names.items():
        if not isinstance(name, str) or not _NAME.match(name):
            raise refuse(key, name, "an identifier of Verilog")
    if values["reset"] not in ("high", "low"):
        raise refuse("reset", values["reset"], "high, low")
    for key in ("width", "ports"):
        if not isinstance(values.get(key), int):
            raise refuse(key, values.get(key), "a whole number")
    pin_map = PinMap(values["module"], values["width"], values["ports"], values["reset"] == "low", pins)
    _ = pin_map.parameters  # raises for sizes that the simulation cannot have
    return pin_map


def wrapped(pin_map: PinMap, verilog: str) -> str:
    """`verilog`, and a module `ina_card` with our pins that has the other one inside."""
    p = pin_map.parameters
    widths = {
        "rx_valid": p.ports, "rx_ready": p.ports, "rx_last": p.ports, "rx_data": p.ports * p.width,
        "rx_keep": p.ports * p.beat, "tx_valid": p.ports, "tx_ready": p.ports, "tx_last": p.ports,
        "tx_data": p.ports * p.width, "tx_keep": p.ports * p.beat, "bus_address": 32, "bus_w_data": 32,
        "bus_r_data": 32, "hash": 256, "frames_in": 64,
    }  # fmt: skip
    outputs = {"rx_ready", "tx_valid", "tx_last", "tx_data", "tx_keep", "bus_ack", "bus_r_data", "idle", "frames_in"}
    lines = ["module ina_card ("]
    for name in (*_NEEDED, *_OPTIONAL):
        size = widths.get(name, 1)
        lines.append(f"    {'output' if name in outputs else 'input'} wire [{size - 1}:0] {name},")
    lines += ["    input wire [4:0] plant, output wire tap_valid, output wire [2:0] tap_kind, output wire tap_known,"]
    lines += ["    output wire [15:0] tap_ring, output wire [7:0] tap_rank, output wire [31:0] tap_message,"]
    lines += ["    output wire [15:0] tap_offset, output wire [15:0] tap_packets, output wire [4:0] tap_reason", ");"]
    lines += ["    assign {tap_valid, tap_kind, tap_known, tap_ring, tap_rank, tap_message} = 0;"]
    lines += ["    assign {tap_offset, tap_packets, tap_reason} = 0;"]
    if "idle" not in pin_map.pins:
        lines += [
            "    reg [15:0] quiet = 0;",
            "    always @(posedge clk) quiet <= (rst || |rx_valid || |tx_valid) ? 0 : quiet + {15'd0, ~&quiet};",
            f"    assign idle = quiet >= {_QUIET};",
        ]
    if "frames_in" not in pin_map.pins:
        lines += [
            "    reg [63:0] begun = 0;",
            "    always @(posedge clk) begun <= rst ? 0 : begun + {63'd0, |(rx_valid & rx_ready & rx_last)};",
            "    assign frames_in = begun;",
        ]
    connections = []
    for ours, theirs in pin_map.pins.items():
        wire = "~rst" if ours == "rst" and pin_map.resets_low else ours
        connections.append(f".{theirs}({wire})")
    lines += [f"    {pin_map.module} theirs ({', '.join(connections)});", "endmodule"]
    return verilog + "\n" + "\n".join(lines) + "\n"

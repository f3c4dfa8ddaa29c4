"""C files of one library call each other in one direction, so that each can be read by itself."""

from __future__ import annotations

import shutil
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from workloads.native.build import LIBRARIES

_TOP = Path(__file__).resolve().parents[3]


def _calls(files: tuple[str, ...], folder: Path) -> dict[str, set[str]]:
    """File -> files whose symbols it uses, as the linker tells: per symbol, who defines it and then who uses it."""
    objects = {str(folder / f"{Path(name).stem}.o"): name for name in files}
    for made, name in objects.items():
        _gcc("-std=gnu11", "-O0", "-fPIC", f"-I{_TOP / 'workloads/native'}", "-c", str(_TOP / name), "-o", made)
    table = folder / "map"
    _gcc("-shared", "-o", str(folder / "all.so"), *objects, "-lz", f"-Wl,-Map,{table}", "-Wl,--cref")
    calls: dict[str, set[str]] = {name: set() for name in files}
    definer = ""
    for line in table.read_text(encoding="utf-8").partition("Cross Reference Table")[2].splitlines():
        *symbol, place = line.split() or [""]
        if symbol:
            definer = objects.get(place, "")
        elif definer and place in objects and objects[place] != definer:
            calls[objects[place]].add(definer)
    return calls


def _gcc(*words: str) -> None:
    done = subprocess.run(["gcc", *words], check=False, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("library", [name for name, files in LIBRARIES.items() if len(files) > 1])
def test_no_circle_between_the_files_of_a_library(library: str, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc (apt-get install gcc)")
    calls = _calls(LIBRARIES[library], tmp_path)
    assert any(calls.values()) == (library == "simulator"), "who calls whom was seen"
    try:
        tuple(TopologicalSorter(calls).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))

"""How long commands take before they do anything: CPU time, as a multiple of `python -c pass`.

`python -m benchmarks.bench_startup [--repeats N]`. CPU time and its ratio depend less on other work of the machine than
the clock on the wall. Commands take turns with the bare interpreter; each row shows medians.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_TOP = Path(__file__).resolve().parents[1]
_BARE = (sys.executable, "-c", "pass")
_COMMANDS = {
    "./tb --help": (str(_TOP / "tb"), "--help"),
    "--help": (sys.executable, "-P", "-m", "testbed", "--help"),
    "run --help": (sys.executable, "-P", "-m", "testbed", "run", "--help"),
    "list": (sys.executable, "-P", "-m", "testbed", "list"),
    "validate rack": (sys.executable, "-P", "-m", "testbed", "validate", "rack"),
    "run, 4 kB": (
        sys.executable, "-P", "-m", "testbed", "run", "rack", "--world", "simulated", "--set", "job.size=4kB",
        "--set", "capture=false", "--quiet", "--out", "{out}",
    ),
}  # fmt: skip
"""The first goes through the script that looks whether the set-up is up to date. `{out}`: a new folder."""


def cpu_s(command: tuple[str, ...]) -> float:
    """Of the command and its children. Raises CalledProcessError when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        words = [word.format(out=f"{folder}/run") for word in command]
        subprocess.run(words, cwd=_TOP, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    for command in _COMMANDS.values():
        cpu_s(command)  # bytecode and caches
    bare: list[float] = []
    taken: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for _ in range(repeats):
        bare.append(cpu_s(_BARE))
        for name, command in _COMMANDS.items():
            taken[name].append(cpu_s(command))
    least = statistics.median(bare)
    print(f"{'python -c pass':16} {1000 * least:7.0f} ms")
    for name, found in taken.items():
        print(f"{name:16} {1000 * statistics.median(found):7.0f} ms  {statistics.median(found) / least:5.1f}x")


if __name__ == "__main__":
    main()

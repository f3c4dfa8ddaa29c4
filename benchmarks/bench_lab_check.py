"""How long `tb lab check` takes for one emulated host and for many, from the first connect to the last result.

`python -m benchmarks.bench_lab_check [--repeats N] [--hosts N] [--json]` as root. Each repeat opens its own
connections, as each command does; one host and all take turns, so that a change of the machine's load meets both. What
is compared are wall times of one run, as median, spread and ratio: hosts are asked at once, so the ratio is that of
what they share here (this machine's processors: all the sshds, Pythons and handshakes run on it), and stays far below
the number of hosts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from testbed.lab.drivers import HostDriver
from testbed.lab.emulated.shape import LabShape
from testbed.lab.inventory import load_inventory
from testbed.lab.lab import Lab
from testbed.lab.model import Inventory
from tests.support.labs import lab_of


def check_s(inventory: Inventory, names: list[str], state: Path) -> float:
    """Seconds of one check of these hosts. Raises LabError."""
    began = time.perf_counter()
    with Lab(inventory, lambda step: None, state=state) as lab:
        HostDriver(lab, inventory.select(names)).check()
        return time.perf_counter() - began


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench_lab_check", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory() as state,
        lab_of(LabShape(f"b{os.getpid()}", hosts=args.hosts, card=False)) as path,
    ):
        inventory = load_inventory(path)
        every = list(inventory.hosts)
        for names in (every[:1], every):  # files are read, and Pythons compiled, once
            check_s(inventory, names, Path(state))
        times: dict[int, list[float]] = {1: [], len(every): []}
        for _ in range(args.repeats):
            for count, found in times.items():
                found.append(check_s(inventory, every[:count], Path(state)))
    one = statistics.median(times[1])
    rows = [
        {
            "measured": "tb lab check", "hosts": count, "repeats": args.repeats, "unit": "s",
            "median": statistics.median(found), "spread": [min(found), max(found)],
            "ratio": statistics.median(found) / one,
        }
        for count, found in times.items()
    ]  # fmt: skip
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        low, high = row["spread"]
        print(
            f"{row['hosts']:>3} hosts: median {row['median']:.2f} s ({low:.2f} .. {high:.2f}), {row['ratio']:.1f} x "
            "one host"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

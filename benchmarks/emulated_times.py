"""Emulated times beside their twins in virtual time, over built-in scenarios, seeds and dilations.

As root: `python -P -m benchmarks.emulated_times builtins ROWS.jsonl [--seeds 3] [--busy 2] [NAME ...]` runs every
built-in that the emulated world has, with `--dilation auto`. `... dilations ROWS.jsonl [--seeds 1]` runs the scenarios
of `_AT_EACH_DILATION` at 1, 2, 10 and 100. One line of ROWS.jsonl for each run, written when it is done; what is there
is not run again. `... tell ROWS.jsonl` prints the tables.

`--busy N` keeps N processes of equal rank busy beside the runs: what a user's other work does to the figures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.kept_rows import keep_row, kept_rows

ROOT = Path(__file__).resolve().parent.parent
_LIMIT = 0.05
_AT_EACH_DILATION: dict[str, tuple[str, ...]] = {
    "rack": ("rack",),
    "rack-lossy": ("rack-lossy",),
    "spine-leaf": ("spine-leaf",),
    "jobs-8 switchml": ("jobs-8", "switch.program=switchml", "job.protocol=switchml"),
    "jobs-8 atp": ("jobs-8", "switch.program=atp", "job.protocol=atp"),
    "jobs-8 esa": ("jobs-8", "switch.program=esa", "job.protocol=esa"),
    "grid": ("grid",),
    "congested": ("congested",),
}
_DILATIONS = ("1", "2", "10", "100")


@dataclass(frozen=True)
class Row:
    """One run. Times in seconds of emulated time; None where the run has no such figure."""

    table: str
    name: str
    seed: int
    asked: str
    busy: int
    exit_code: int
    verdict: str
    fidelity: str
    factor: int | None
    jct_s: float | None
    twins_s: list[float]
    deviation: float | None
    resent: list[int]
    own_resent: int | None
    struck: dict[str, int]
    sums: str
    reason: str

    @property
    def key(self) -> tuple[str, str, int, str, int]:
        return self.table, self.name, self.seed, self.asked, self.busy


def measure(table: str, name: str, words: Sequence[str], seed: int, dilation: str, busy: int) -> Row:
    """`tb run` of a scenario (its name, then KEY=VALUE), in the emulated world."""
    with tempfile.TemporaryDirectory(prefix="ina-times-") as folder:
        command = [
            sys.executable,
            "-P",
            "-m",
            "testbed",
            "run",
            words[0],
            "--world",
            "emulated",
            "--dilation",
            dilation,
        ]
        command += ["--seed", str(seed), "--json", "--out", f"{folder}/run"]
        command += [word for override in words[1:] for word in ("--set", override)]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=1_800,
        )
        crash = Path(folder, "run", "traceback.txt")
        ended_by = crash.read_text(errors="replace")[-2_000:] if crash.exists() else done.stderr[-300:].strip()
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        document = {}
    twin, metrics = document.get("twin") or {}, document.get("metrics") or {}
    fidelity = document.get("fidelity") or {}
    checks = {check["name"]: check for check in document.get("checks", [])}
    return Row(
        table=table,
        name=name,
        seed=seed,
        asked=dilation,
        busy=busy,
        exit_code=done.returncode,
        verdict=document.get("verdict", "none"),
        fidelity=fidelity.get("verdict", "none"),
        factor=(document.get("dilation") or {}).get("factor"),
        jct_s=metrics.get("jct_s"),
        twins_s=[time for time in twin.get("jct_s") or [] if time is not None],
        deviation=twin.get("deviation"),
        resent=list(twin.get("resent") or []),
        own_resent=(metrics.get("retransmissions") or {}).get("packets"),
        struck={fault["name"]: fault["strikes"] for fault in document.get("faults", [])},
        sums=checks.get("bit_exact", {}).get("verdict", "none"),
        reason="; ".join(fidelity.get("reasons") or []) or (twin.get("left_out") or "") or ended_by,
    )


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    spinning = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in spinning:
        process.start()
    try:
        yield
    finally:
        for process in spinning:
            process.terminate()
            process.join()


def cases(table: str, seeds: int, names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...], int, str]]:
    from testbed.scenario import builtin_names, load_scenario

    for seed in range(1, seeds + 1):
        if table == "dilations":
            for name, words in _AT_EACH_DILATION.items():
                for dilation in _DILATIONS:
                    yield name, words, seed, dilation
        else:
            for name in names or builtin_names():
                if "emulated" in load_scenario(name).worlds:
                    yield name, (name,), seed, "auto"


def run(options: argparse.Namespace) -> None:
    there = {row.key for row in kept_rows(options.rows, Row)}
    with busy_processes(options.busy):
        for name, words, seed, dilation in cases(options.what, options.seeds, options.names):
            if (options.what, name, seed, dilation, options.busy) in there:
                continue
            row = measure(options.what, name, words, seed, dilation, options.busy)
            keep_row(options.rows, row)
            print(line(row), flush=True)


def line(row: Row) -> str:
    twins = f"{median(row.twins_s):.4f}" if row.twins_s else "none"
    jct = f"{row.jct_s:.4f}" if row.jct_s is not None else "none"
    off = f"{row.deviation:+.1%}" if row.deviation is not None else "-"
    text = (
        f"{row.name:28} seed {row.seed} x{row.factor or '-':<5} {row.verdict:7} {row.fidelity:7} "
        f"{jct:>9} s, twin {twins:>9} s, {off:>8}; sent again {row.own_resent} beside {row.resent}"
    )
    return text if row.fidelity == "pass" else f"{text}; {row.reason[:300]}"


def tell_builtins(rows: list[Row]) -> None:
    for busy in sorted({row.busy for row in rows}):
        some = [row for row in rows if row.busy == busy]
        held = [row for row in some if row.fidelity == "pass"]
        false = [row for row in held if row.deviation is not None and abs(row.deviation) > _LIMIT]
        print(
            f"{len(some)} runs beside {busy} busy processes: "
            f"fidelity pass in {len(held)} ({len(held) / len(some):.1%}), "
            f"of these off their twins by more than {_LIMIT:.0%}: {len(false)}"
        )
        by_name: dict[str, list[Row]] = defaultdict(list)
        for row in some:
            by_name[row.name].append(row)
        for name, found in by_name.items():
            ratios = [
                f"{row.jct_s / median(row.twins_s):.3f}{'' if row.fidelity == 'pass' else '?'} (x{row.factor})"
                for row in found
                if row.jct_s and row.twins_s
            ]
            print(f"  {name:28} {', '.join(ratios) or found[0].reason[:100]}")


def tell_dilations(rows: list[Row]) -> None:
    by_case: dict[tuple[str, int], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        by_case[row.name, row.seed][row.asked] = row
    for (name, seed), found in by_case.items():
        peer = found.get("100")
        cells = []
        for dilation in _DILATIONS:
            row = found.get(dilation)
            if row is None or row.jct_s is None:
                cells.append("none")
                continue
            ratio = f" {row.jct_s / peer.jct_s:.3f}" if peer and peer.jct_s else ""
            same = "" if peer is None or row.struck == peer.struck else " other packets struck"
            cells.append(f"{row.jct_s:.4f} s{ratio} {row.fidelity} sums {row.sums}{same}")
        print(f"{name:18} seed {seed}  " + " | ".join(cells))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("builtins", "dilations", "tell"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("names", nargs="*", help="built-ins; all without")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0, metavar="N")
    options = parser.parse_intermixed_args()
    if options.what == "tell":
        rows = kept_rows(options.rows, Row)
        tell_builtins([row for row in rows if row.table == "builtins"])
        tell_dilations([row for row in rows if row.table == "dilations"])
        return 0
    run(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

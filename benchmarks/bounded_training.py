"""What a bound does to a training: `python -m benchmarks.bounded_training [--tenant] [--model digits|mlp]`.

Each cell trains over four hosts at 100 Mbit/s in virtual time, over DLCP with p = 0, 1, 2 and 5 % and over a plain
parameter server, and says when in the network's time the model was how good: after a third, two thirds and all of its
steps, at the host or rank whose model does worst. `digits` trains inside the workers (`job.workload`); `mlp` is
`playbooks/training/mlp.py` under `tb train`, with a gradient of 100 packets, and needs PyTorch and scikit-learn: where
they are missing, it says so and goes on. Every link loses 1 % of all packets; `--tenant` in place of that: a tenant
sends UDP into the server's link, whose queue has 32 packets, at ten rates.

The plain server is a host of its own, which has no gradient; DLCP's is the last rank, so that one flow fewer shares its
link.

Cells that passed are kept in `--out` and not run again; `--only TEXT` chooses by name. Ends with a table. Exits 1 when
a verdict is not a pass.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.kept_rows import keep_row, kept_rows

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "playbooks" / "training" / "mlp.py"
PLAIN = "ps"
PROTOCOLS = (PLAIN, "0", "1%", "2%", "5%")
"""the plain one, and DLCP by its bound"""
MODELS = ("digits", "mlp")
NEEDED = {"digits": ("sklearn",), "mlp": ("torch", "sklearn")}
HIDDEN = 341
"""of the script's model: 25,585 elements, 100 packets"""
LOADS = tuple(range(0, 100, 10))
"""of the tenant, Mbit/s"""
HOSTS = "[h1, h2, h3, h4]"


@dataclass(frozen=True, slots=True)
class Cell:
    model: str
    protocol: str
    tenant: int | None = None
    """Mbit/s; None: links lose packets instead"""
    steps: int = 30
    seed: int = 1

    @property
    def name(self) -> str:
        what = "1 % lost" if self.tenant is None else f"tenant {self.tenant}"
        over = self.protocol if self.protocol == PLAIN else f"p = {self.protocol}"
        return f"{self.model}, {what}, {over}, {self.steps} steps, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Row:
    """What a cell said."""

    name: str
    problems: list[str]
    """empty: it passed"""
    points: list[tuple[int, float, float]]
    """(steps, s in the network, accuracy where it is worst)"""
    sent_again: int


def changes(cell: Cell) -> list[str]:
    """Of the scenario."""
    plain, tenant = cell.protocol == PLAIN, cell.tenant
    job = {"protocol": "ps"} if plain else {"protocol": "dlcp", "loss_bound": cell.protocol}
    if cell.model == "digits":
        job |= {"workload": "digits", "iterations": str(cell.steps)}
    job |= {"window_packets": "32", "hosts": HOSTS}
    server = "h6" if plain else "h4"
    link = "{rate: 100Mbps}" if tenant is None else "{rate: 100Mbps, queue: 32}"
    beside = f"[{{kind: udp, name: tenant, from: h5, to: {server}, rate: {tenant}Mbps}}]" if tenant else "[]"
    lost = "[{kind: loss, name: loss, links: all, direction: both, rate: 1%}]" if tenant is None else "[]"
    return [
        f"topology={{kind: rack, hosts: {6 if plain else 5}, link: {link}}}",
        f"job={{{', '.join(f'{key}: {value}' for key, value in job.items())}}}",
        f"background={beside}",
        f"faults={lost}",
    ]


def command(cell: Cell, run_dir: Path) -> list[str]:
    trains = cell.model != "digits"
    return [
        *(sys.executable, "-P", "-m", "testbed", "train" if trains else "run"),
        *("ps-plain" if cell.protocol == PLAIN else "dlcp", "--world", "simulated", "--seed", str(cell.seed)),
        *(word for change in changes(cell) for word in ("--set", change)),
        *("--out", str(run_dir)),
        *(("--", str(SCRIPT), *script_words(cell)) if trains else ()),
    ]


def script_words(cell: Cell) -> list[str]:
    every = str(max(1, cell.steps // 3))
    return ["--hidden", str(HIDDEN), "--steps", str(cell.steps), "--every", every, "--all-ranks"]


def run_cell(cell: Cell, run_dir: Path, timeout_s: float = 900) -> Row:
    done = subprocess.run(
        command(cell, run_dir), env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=timeout_s, check=False,
    )  # fmt: skip
    problems = [] if done.returncode == 0 else [f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"]
    history, result = run_dir / "history.jsonl", run_dir / "result.json"
    if not history.exists() or not result.exists():
        return Row(cell.name, problems or ["it left no history"], [], 0)
    records = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    points = points_of_digits(records) if cell.model == "digits" else points_of_script(records, done.stdout)
    chosen = [point for point in points if point[0] % max(1, cell.steps // 3) == 0]
    if not chosen:
        problems.append("nobody told how good a model is")
    again = json.loads(result.read_text(encoding="utf-8"))["metrics"]["retransmissions"]["packets"]
    return Row(cell.name, problems, chosen, again)


def points_of_digits(records: Iterable[dict[str, Any]]) -> list[tuple[int, float, float]]:
    """A step is over when its last host has the sum."""
    found: defaultdict[int, list[float]] = defaultdict(list)
    over: defaultdict[int, float] = defaultdict(float)
    for record in records:
        if record["event"] == "CollectiveCompleted":
            over[record["iteration"]] = max(over[record["iteration"]], record["completed_ns"] / 1e9)
        elif record["event"] == "TrainingProgress":
            found[record["iteration"]].append(record["accuracy"])
    return [(iteration + 1, over[iteration], min(told)) for iteration, told in sorted(found.items())]


def points_of_script(records: Iterable[dict[str, Any]], said: str) -> list[tuple[int, float, float]]:
    """Of a script each of whose steps is one all-reduce."""
    times, now = [], 0
    for record in records:
        if record["event"] == "AllReduceCarried":
            now += record["network_ns"]
            times.append(now / 1e9)
    worst: dict[int, float] = {}
    for step, right in re.findall(r"^\[rank \d+\] step +(\d+)  loss \S+  held out (\S+)% right$", said, re.MULTILINE):
        worst[int(step)] = min(worst.get(int(step), 1.0), float(right) / 100)
    return [(step, times[step - 1], accuracy) for step, accuracy in sorted(worst.items())]


def missing(model: str) -> tuple[str, ...]:
    """What is not installed."""
    return tuple(name for name in NEEDED[model] if find_spec(name) is None)


def cells(models: Sequence[str], tenant: bool, steps: int, seed: int) -> list[Cell]:
    beside: tuple[int | None, ...] = LOADS if tenant else (None,)
    return [Cell(model, protocol, load, steps, seed) for model in models for load in beside for protocol in PROTOCOLS]


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = [
        "| cell | seconds in the network: accuracy of the worst model | packets sent again |",
        "|---|---|---|",
    ]
    for row in rows:
        told = ", ".join(f"{seconds:.2f} s: {accuracy:.1%}" for _, seconds, accuracy in row.points)
        lines.append(f"| {row.name} | {'; '.join(row.problems) or told} | {row.sent_again:,} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, help="one of them (default: both)")
    parser.add_argument("--tenant", action="store_true", help="beside a tenant at ten rates, and no losses of links")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1, help="decides which packets are lost")
    parser.add_argument("--only", default="", metavar="TEXT", help='in the name of a cell, as "tenant 50, p = 5%%"')
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "bounded-training", metavar="DIR")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    models = [args.model] if args.model else list(MODELS)
    for model in models:
        if lacks := missing(model):
            print(f"{model} is left out: {' and '.join(lacks)} not installed (docs/training.md)", file=sys.stderr)
    models = [model for model in models if not missing(model)]
    file, rows = args.out / "rows.jsonl", []
    passed = {row.name: row for row in kept_rows(file, Row) if not row.problems}
    for cell in cells(models, args.tenant, args.steps, args.seed):
        if args.only not in cell.name:
            continue
        row = passed.get(cell.name)
        if row is None:
            run_dir = args.out / "run"
            shutil.rmtree(run_dir, ignore_errors=True)
            row = run_cell(cell, run_dir)
            keep_row(file, row)
            print(f"{row.name}: {'; '.join(row.problems) or 'passed'}", file=sys.stderr, flush=True)
        rows.append(row)
    print(table(rows))
    return 1 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The tutorial's script over every protocol: `python -m benchmarks.training_matrix [--world emulated] [--steps 200]`.

Each cell is one `tb train` of DistributedDataParallel over a rack: NetReduce with go-back-N and with IRN, SwitchML,
ATP, ESA and ring; 2, 4 and 8 ranks; 0, 1 and 5 % of the packets lost on every link. A cell passes when the verdict
does, all ranks end with the same weights, and weights and losses are, bit for bit, those of one process that folds as
the protocol does. Beside the loss stands by how much it ever is off the loss of float32 summed in rank order.

Go-back-N gives up what it sent eight times in vain. With 5 % loss on each of the four links that a packet and its ACK
pass, an attempt fails with probability 0.19, and eight in a row with 1.4e-6: of the 22,400 messages of a ring of eight,
each of one packet, that comes about once in thirty trainings, and then says so. `--seed` draws other losses.

Cells that passed are kept in `--out` and not run again; `--only TEXT` chooses by name. Ends with a table. Exits 1 when
a cell does not pass.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.kept_rows import keep_row, kept_rows
from testbed.checkers.folds import Array, fold, ring_fold
from testbed.checkers.reference_quantised import quantised_sum
from tests.workloads.torch_backend import program
from workloads.config import ArithmeticSpec

ROOT = Path(__file__).resolve().parent.parent
SHARED_EXPONENT = 128
"""elements, of SwitchML, ATP and ESA (docs/switchml.md)"""


def in_rank_order(gradients: Sequence[Array]) -> Array:
    return fold(gradients, ArithmeticSpec())


def round_the_ring(gradients: Sequence[Array]) -> Array:
    return ring_fold(gradients, ArithmeticSpec())


def as_integers(gradients: Sequence[Array]) -> Array:
    return quantised_sum(gradients, SHARED_EXPONENT)


@dataclass(frozen=True, slots=True)
class Protocol:
    scenario: str
    fold: Callable[[Sequence[Array]], Array]
    servers: int = 0
    """hosts that are no rank"""
    changes: tuple[str, ...] = ()


PROTOCOLS = {
    "NetReduce gbn": Protocol("rack", in_rank_order),
    "NetReduce irn": Protocol("rack", in_rank_order, changes=("transport.recovery=irn",)),
    "SwitchML": Protocol("switchml", as_integers),
    "ATP": Protocol("atp", as_integers, servers=1),
    "ESA": Protocol("esa", as_integers, servers=1),
    "ring": Protocol("ring", round_the_ring),
}
RANKS, LOSS_PERCENT = (2, 4, 8), (0, 1, 5)


@dataclass(frozen=True, slots=True)
class Cell:
    protocol: str
    ranks: int
    loss_percent: int
    world: str = "simulated"
    steps: int = 200
    seed: int = 1

    @property
    def name(self) -> str:
        seed = f", seed {self.seed}" if self.seed != 1 else ""
        return f"{self.protocol}, {self.ranks} ranks, {self.loss_percent} %, {self.world}, {self.steps} steps{seed}"


@dataclass(frozen=True, slots=True)
class Row:
    """What a cell said."""

    name: str
    problems: list[str]
    """empty: it passed"""
    loss_first: float
    loss_last: float
    off_float32: float
    """most that the loss of any step differs from that of float32 in rank order"""
    network_s: float
    """of all all-reduces: virtual in the simulated world"""
    packets_struck: int
    seconds: float
    """of the wall"""


def command(cell: Cell, run_dir: Path) -> list[str]:
    """Of `tb train`."""
    protocol = PROTOCOLS[cell.protocol]
    loss = f"[{{kind: loss, name: loss, links: all, rate: {cell.loss_percent}%}}]" if cell.loss_percent else "[]"
    changes = (f"topology.hosts={cell.ranks + protocol.servers}", f"faults={loss}", *protocol.changes)
    return [
        *(sys.executable, "-P", "-m", "testbed", "train", protocol.scenario, "--world", cell.world),
        *("--seed", str(cell.seed)),
        *(word for change in changes for word in ("--set", change)),
        *("--out", str(run_dir), "--", str(program.__file__), "--ddp", "--steps", str(cell.steps)),
    ]


def environment() -> dict[str, str]:
    """Of this checkout's `tb`."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@cache
def expected(how: Callable[[Sequence[Array]], Array], ranks: int, steps: int) -> tuple[str, list[float]]:
    weights, losses = program.reference(ranks, steps, how, ddp=True)
    return weights, losses


def run_cell(cell: Cell, run_dir: Path, timeout_s: float = 900) -> Row:
    """One training, and what it is held against."""
    began = time.monotonic()
    done = subprocess.run(
        command(cell, run_dir), env=environment(), capture_output=True, text=True, timeout=timeout_s, check=False
    )
    seconds = time.monotonic() - began
    problems = [] if done.returncode == 0 else [f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"]
    weights = re.findall(r"^\[rank \d+\] weights (\w+)", done.stdout, re.MULTILINE)
    told = re.search(r"^\[rank 0\] losses (.*)", done.stdout, re.MULTILINE)
    losses = json.loads(told[1]) if told else []
    wanted, wanted_losses = expected(PROTOCOLS[cell.protocol].fold, cell.ranks, cell.steps)
    problems += judge(weights, losses, cell.ranks, wanted, wanted_losses)
    try:
        document = json.loads((run_dir / "result.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        document = {}
    problems += [
        f"{check['name']}: {check['detail']}" for check in document.get("checks", ()) if check["verdict"] == "fail"
    ]
    _, floats = expected(in_rank_order, cell.ranks, cell.steps)
    off = float(np.max(np.abs(np.array(wanted_losses) - np.array(floats))))
    return Row(
        cell.name, problems, wanted_losses[0], float(np.mean(wanted_losses[-10:])), off,
        document.get("metrics", {}).get("duration_s") or 0.0,
        sum(fault["strikes"] for fault in document.get("faults", ())), seconds,
    )  # fmt: skip


def judge(
    weights: Sequence[str], losses: Sequence[float], ranks: int, wanted: str, wanted_losses: Sequence[float]
) -> list[str]:
    """What is wrong with what the ranks ended with."""
    problems = []
    if len(weights) != ranks:
        problems.append(f"{len(weights)} of {ranks} ranks told their weights")
    if len(set(weights)) > 1:
        problems.append("the ranks' weights differ")
    if set(weights) - {wanted}:
        problems.append("the weights are not those of one process")
    if list(losses) != list(wanted_losses):
        problems.append("the losses are not those of one process")
    return problems


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = [
        "| cell | weights and losses | loss, first and last 10 | off float32 | in the network | packets struck |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        what = "; ".join(row.problems) or "bit for bit"
        loss = f"{row.loss_first:.3f} → {row.loss_last:.3f}"
        lines.append(
            f"| {row.name} | {what} | {loss} | {row.off_float32:.1e} | {row.network_s:.3f} s | {row.packets_struck:,} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", choices=("simulated", "emulated"), default="simulated")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="decides which packets are lost")
    parser.add_argument("--only", default="", metavar="TEXT", help='in the name of a cell, as "ATP, 2 ranks"')
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "training-matrix", metavar="DIR")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    cells = [
        cell
        for ranks in RANKS
        for loss in LOSS_PERCENT
        for protocol in PROTOCOLS
        if args.only in (cell := Cell(protocol, ranks, loss, args.world, args.steps, args.seed)).name
    ]
    file, rows = args.out / "rows.jsonl", []
    passed = {row.name: row for row in kept_rows(file, Row) if not row.problems}
    for cell in cells:
        row = passed.get(cell.name)
        if row is None:
            run_dir = args.out / "run"
            shutil.rmtree(run_dir, ignore_errors=True)
            row = run_cell(cell, run_dir)
            keep_row(file, row)
            print(
                f"{row.name}: {'; '.join(row.problems) or 'passed'} ({row.seconds:.0f} s)", file=sys.stderr, flush=True
            )
        rows.append(row)
    print(table(rows))
    print(f"{sum(not row.problems for row in rows)} of {len(rows)} cells passed")
    return 1 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

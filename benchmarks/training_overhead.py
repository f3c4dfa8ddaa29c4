"""What the backend of torch.distributed adds to a collective: `sudo python -m benchmarks.training_overhead`.

In turns, `--runs` times: the collective alone (`tb run`, one iteration as the workers measure it) and one all-reduce of
the same size by ranks (`tb train`, from the call to its return at the slowest rank), over the same emulated rack. A run
of each kind holds `--times` of them and tells their median; the last line compares the medians of those.

The rate has to be one that the machine keeps up with: else both are as fast as the processor, which the ranks share.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(__file__).with_name("training_overhead_program.py")


@dataclass(frozen=True, slots=True)
class Setting:
    scenario: str = "rack"
    world: str = "emulated"
    hosts: int = 2
    rate: str = "100Mbps"
    size_bytes: int = 16_000_000
    times: int = 1
    piece: str = "4MB"
    """as is the default of tb train"""

    def changes(self) -> list[str]:
        keys = (f"topology.hosts={self.hosts}", f"topology.link.rate={self.rate}", "time_limit=200s")
        return [word for key in keys for word in ("--set", key)]


def bare_s(setting: Setting, folder: Path) -> float:
    """Of the collective alone; its first iteration is not counted, as that of the ranks is not."""
    sizes = ("--set", f"job.size={setting.size_bytes}B", "--set", f"job.iterations={setting.times + 1}")
    _call(["run", setting.scenario, "--world", setting.world, *setting.changes(), *sizes, "--out", str(folder)])
    metrics = json.loads((folder / "result.json").read_text(encoding="utf-8"))["metrics"]
    if metrics["unreliable"]:
        print(f"do not trust this: {metrics['unreliable']['reason']}", file=sys.stderr)
    iterations = metrics["iterations_s"] or metrics["unreliable"]["iterations_s"]
    return median(iterations[1:])


def ranks_s(setting: Setting, folder: Path) -> float:
    """Of the ranks' all-reduces: each as long as its slowest rank."""
    words = ["train", setting.scenario, "--world", setting.world, *setting.changes(), "--piece", setting.piece]
    script = [str(PROGRAM), "--bytes", str(setting.size_bytes), "--times", str(setting.times)]
    told = _call([*words, "--out", str(folder), "--", *script])
    found = [json.loads(text) for text in re.findall(r"^\[rank \d+\] seconds (.*)$", told, re.MULTILINE)]
    if len(found) != setting.hosts:
        raise SystemExit(f"{len(found)} of {setting.hosts} ranks told their times")
    return median(map(max, zip(*found, strict=True)))


def _call(words: Sequence[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testbed", *words], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(
            f"tb {words[0]} ended with exit code {done.returncode}:\n{done.stdout[-1500:]}{done.stderr[-800:]}"
        )
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="rack")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rate", default="100Mbps")
    parser.add_argument("--size", type=int, default=16_000_000, metavar="BYTES")
    parser.add_argument("--piece", default="4MB", help="as of tb train (default: %(default)s, as there)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--times", type=int, default=3, help="all-reduces that are counted in each run")
    args = parser.parse_args()
    setting = Setting(
        args.scenario, hosts=args.hosts, rate=args.rate, size_bytes=args.size, times=args.times, piece=args.piece
    )
    bare, ranks = [], []
    with tempfile.TemporaryDirectory(prefix="ina-overhead-") as folder:
        for number in range(args.runs):
            bare.append(bare_s(setting, Path(folder) / f"bare-{number}"))
            ranks.append(ranks_s(setting, Path(folder) / f"ranks-{number}"))
            print(
                f"{number + 1}: collective alone {bare[-1]:.3f} s, at the ranks {ranks[-1]:.3f} s, "
                f"{ranks[-1] / bare[-1] - 1:+.1%}",
                flush=True,
            )
    one, other = median(bare), median(ranks)
    print(
        f"medians of {args.runs}: {one:.3f} s alone, {other:.3f} s at the ranks: the backend adds {other / one - 1:.1%}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

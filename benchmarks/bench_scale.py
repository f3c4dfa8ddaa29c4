"""Time and memory of runs with up to 1,024 hosts at packet level.

`python -m benchmarks.bench_scale [--case NAME] [--hosts N ...] [--json]`. A run is `tb run` as a user types it, set-up,
checks and report included, in a process of its own: wall and CPU time, and the most memory that it had (peak RSS). The
fabric has leaves of 32 hosts, 4 spines, and the link rates that the cases name."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_ON_A_LEAF = 32
_TEXT = """
name: scale
world: simulated
capture: false
topology: {{kind: spine_leaf, leaves: {leaves}, spines: 4, hosts_per_leaf: 32, link: {{rate: 10Gbps}}, uplink: {{rate: {uplink}}}}}
switch: {{program: {program}}}
job: {{protocol: {protocol}, size: {size}}}
faults: [{faults}]
"""  # noqa: E501
_LOSS = "{kind: loss, rate: 0.1%}"
_PLAIN = {"size": "1MB", "uplink": "100Gbps", "faults": ""}
CASES = {
    "NetReduce": _PLAIN | {"program": "netreduce", "protocol": "netreduce"},
    "PS": _PLAIN | {"program": "ps", "protocol": "ps, aggregation: true, multicast: true"},
    "ATP": _PLAIN | {"program": "atp", "protocol": "atp", "uplink": "400Gbps"},
    "ring": _PLAIN | {"program": "forward", "protocol": "ring"},
    "NetReduce, 16 MB, 0.1 % loss": {
        "program": "netreduce", "protocol": "netreduce", "size": "16MB", "uplink": "100Gbps", "faults": _LOSS
    },
}  # fmt: skip
"""of ATP, the server's leaf sends each result to every other leaf"""


def measure(case: str, hosts: int) -> dict[str, float | str]:
    text = _TEXT.format(leaves=max(2, hosts // _ON_A_LEAF), **CASES[case])
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scale.yaml"
        scenario.write_text(text, encoding="utf-8")
        words = ["run", str(scenario), "--real-limit", "none", "--quiet", "--out", f"{folder}/run"]
        begun = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "testbed", *words], env=os.environ | {"PYTHONPATH": str(_ROOT)}
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - begun
        verdict = "refused"
        if (result := Path(folder) / "run" / "result.json").exists():
            verdict = json.loads(result.read_text(encoding="utf-8"))["verdict"]
    cpu_s = usage.ru_utime + usage.ru_stime
    return {"wall_s": wall_s, "cpu_s": cpu_s, "peak_bytes": usage.ru_maxrss * 1024, "verdict": verdict}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--case", action="append", choices=CASES, help="only these (default: all)")
    parser.add_argument("--hosts", action="append", type=int, help="whole leaves of 32, 64 or more (default: 128, 256)")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    args = parser.parse_args()
    found = []
    for case in args.case or CASES:
        for hosts in args.hosts or (128, 256):
            result = measure(case, hosts)
            found.append({"case": case, "hosts": hosts, **result})
            if not args.json:
                print(
                    f"| {case} | {hosts:,} | {result['wall_s']:.0f} s | {result['cpu_s']:.0f} s | "
                    f"{float(result['peak_bytes']) / 1e9:.2f} GB | {result['verdict']} |",
                    flush=True,
                )
    if args.json:
        print(json.dumps(found, indent=2))
    return 0 if all(each["verdict"] == "pass" for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Packet-hops per CPU second of the simulated world for protocols whose Machines are written for two speeds.

`python -m benchmarks.bench_protocols [--repeats N] [--case NAME] [--size SIZE] [--against CHECKOUT] [--json]`. A hop
is one frame over one wire; the time is the CPU time of the process from the first event to the last one, records made,
results hashed and told. Each run has an interpreter of its own, and all variants take turns: compiled, interpreted
(`INA_NATIVE=0`) and, with `--against`, the code of another checkout. The best of the repeats counts, since other work
on the machine only ever adds. All must tell histories with the same digest."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_RUN = """
import gc, hashlib, json, sys, time
from testbed.history.codec import encode_records
from testbed.plan import make_plan
from testbed.scenario.loader import load_scenario
from testbed.worlds.simulated.world import Simulation
plan = make_plan(load_scenario(sys.argv[1], sys.argv[2:], 1, "simulated"))
records = []
simulation = Simulation(plan, records.append)
gc.collect()
simulation.start()
begun = time.process_time()
with profiled():
    simulation.advance(plan.scenario.time_limit_ns, simulation._open.__len__)
took = time.process_time() - begun
simulation.finish()
digest = hashlib.sha256(encode_records(records)).hexdigest()
print(json.dumps({"hops": simulation.packet_hops, "seconds": took, "records": len(records), "digest": digest}))
"""
_UNPROFILED = "from contextlib import nullcontext as profiled\n"
_PROFILED = """
import contextlib, cProfile, pstats, sys
@contextlib.contextmanager
def profiled():
    with cProfile.Profile() as profile:
        yield
    pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(15)
"""
_RACK = ("topology.link.rate=10Gbps", "switch.memory=256", "job.window_packets=128",
         "transport.rto=1ms", "time_limit=30s")  # fmt: skip
_LOSS = "faults=[{kind: loss, name: loss, links: all, direction: both, rate: %s}]"
_TRIANGLE = ("topology.server_link.rate=30Gbps", "routing.capacity=30Gbps", "job.iterations=3")
_PROTOCOLS = {
    "SwitchML": ("switchml-lossy", ("topology.hosts=8",)),
    "ATP": ("atp-lossy", ("topology.hosts=9",)),
    "PS": ("ps-lossy", ("topology.hosts=9",)),
    "GRID": ("grid", _TRIANGLE),
    "GRID paced": ("grid-atp", _TRIANGLE),
    "DLCP": ("dlcp-lossy", ("topology.hosts=9",)),
    "DLCP ring": ("dlcp-ring-lossy", ("topology.hosts=8",)),
    "DLCP ina": ("dlcp-ina-lossy", ("topology.hosts=9",)),
    "repair": ("repair-lossy", ("job.iterations=3",)),
}
"""eight workers; the last host of ATP, PS, DLCP and repair is the server or the newcomer; GRID has a triangle of
switches"""
CASES = {
    f"{name}, {loss} loss": (scenario, (*more, _LOSS % loss))
    for name, (scenario, more) in _PROTOCOLS.items()
    for loss in ("0%", "1%")
}


def measure(
    scenario: str, overrides: tuple[str, ...], root: Path, *, native: bool, profile: bool = False
) -> dict[str, float | str]:
    """One run in an interpreter of its own, with the code under `root`. `profile`: its profile goes to stderr."""
    environment = os.environ | {"PYTHONPATH": str(root)}
    environment.pop("INA_NATIVE", None)
    if not native:
        environment["INA_NATIVE"] = "0"
    command = [sys.executable, "-P", "-c", (_PROFILED if profile else _UNPROFILED) + _RUN, scenario, *overrides]
    errors = None if profile else subprocess.PIPE
    done = subprocess.run(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, check=True
    )
    found: dict[str, float | str] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case", default="", help="begin of the names of the cases to run")
    parser.add_argument("--size", default="1MB", help="of the gradient; three iterations")
    parser.add_argument("--against", type=Path, help="another checkout, which takes turns with this one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    variants = {"compiled": (_ROOT, True), "interpreted": (_ROOT, False)}
    if options.against is not None:
        variants["before"] = (options.against.resolve(), True)
    rows = []
    for case, (scenario, more) in CASES.items():
        if not case.startswith(options.case):
            continue
        overrides = (*_RACK, f"job.size={options.size}", *more)
        best: dict[str, float] = {}
        told = set()
        for _ in range(options.repeats):
            for name, (root, native) in variants.items():
                run = measure(scenario, overrides, root, native=native)
                told.add((run["digest"], run["hops"]))
                best[name] = max(best.get(name, 0), float(run["hops"]) / float(run["seconds"]))
        if len(told) > 1:
            print(f"{case}: the variants tell {len(told)} histories", file=sys.stderr)
            return 1
        rows.append({"case": case, "hops": next(iter(told))[1], **best})
        if not options.json:
            figures = ", ".join(f"{name} {rate / 1000:.1f}" for name, rate in best.items())
            print(f"{case}: {rows[-1]['hops']} hops; thousands per CPU second: {figures}", flush=True)
    if options.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

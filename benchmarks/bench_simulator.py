"""Packet-hops per second of the simulated world: the compiled loop, the Python reference loop, and the same Machines on
SimPy.

`python -m benchmarks.bench_simulator [--repeats N] [--cases "NAME;..."] [--json] [--against CHECKOUT]`. A hop is one
frame over one wire.
All three take turns on the same plan, so that a change of the machine's load meets all of them; what is compared is CPU
time of the run without set-up, and each row tells median, spread and ratio. The Machines' own work is part of it:
gradients are folded, results are hashed. Every run's results are compared with those of the others. Behind the table:
where the time goes.

With `--against` the compiled loop of this checkout and that of another one take turns instead, each run in an
interpreter of its own; both have to carry as many packets and come to the same sums."""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.simpy_world import SimpyWorld
from testbed.faults.model import Loss
from testbed.history import Record
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Job, Scenario, Transport
from testbed.worlds.simulated.native.library import Why, load_core
from testbed.worlds.simulated.world import Simulation
from topologies import LinkShape, rack
from workloads.events import CollectiveCompleted

_NS3 = "ns-3.37, as issue 3 cites a reference machine (not measured here): 0.12 M TCP, 0.23 M UDP packet-hops/s"


@dataclass(frozen=True, slots=True)
class Case:
    hosts: int
    messages: int
    packets: int = 170
    loss: float = 0.0
    delay_ns: int = 0
    recovery: str = "gbn"

    def plan(self) -> Plan:
        shape = LinkShape(rate_bps=1_000_000_000, delay_ns=self.delay_ns)
        topology = rack(self.hosts, shape)
        links = tuple(link.name for link in topology.links)
        size = self.messages * (self.packets * 1024 - 16)
        return make_plan(
            Scenario(
                name="bench", topology=topology, link=shape, capture=False,
                transport=Transport(recovery=self.recovery),
                job=Job(size_bytes=size, message_packets=self.packets),
                faults=(Loss("loss", links, rate=self.loss),) if self.loss else (),
            )
        )  # fmt: skip


CASES = {
    "4 hosts": Case(4, 12),
    "8 hosts": Case(8, 6),
    "4 hosts, 10 us links": Case(4, 12, delay_ns=10_000),
    "4 hosts, 1 % loss": Case(4, 12, loss=0.01),
    "8 hosts, 1 % loss": Case(8, 6, loss=0.01),
    "4 hosts, 4-packet messages": Case(4, 8, packets=4),
    "4 hosts, IRN": Case(4, 12, recovery="irn"),
    "4 hosts, IRN, 1 % loss": Case(4, 12, loss=0.01, recovery="irn"),
    "8 hosts, IRN, 1 % loss": Case(8, 6, loss=0.01, recovery="irn"),
    "4 hosts, irn-held": Case(4, 12, recovery="irn-held"),
    "4 hosts, irn-held, 1 % loss": Case(4, 12, loss=0.01, recovery="irn-held"),
}


def native(plan: Plan) -> tuple[float, int, object]:
    return _ours(plan, compiled=True)


def reference(plan: Plan) -> tuple[float, int, object]:
    return _ours(plan, compiled=False)


def _ours(plan: Plan, *, compiled: bool) -> tuple[float, int, object]:
    records: list[Record] = []
    simulation = Simulation(plan, records.append, native=compiled)
    taken = _timed(simulation.run)
    digests = {(r.node, r.event.iteration): r.event.sha256 for r in records if isinstance(r.event, CollectiveCompleted)}
    return taken, simulation.packet_hops, digests


def simpy(plan: Plan) -> tuple[float, int, object]:
    world = SimpyWorld(plan)
    return _timed(world.run), world.hops, world.digests


def _timed(run: Callable[[], None]) -> float:
    """CPU seconds."""
    gc.collect()
    began = time.process_time()
    run()
    return time.process_time() - began


KINDS: dict[str, Callable[[Plan], tuple[float, int, object]]] = {
    "compiled": native, "reference": reference, "SimPy": simpy,
}  # fmt: skip


def measure(name: str, case: Case, repeats: int) -> dict[str, object]:
    plan = case.plan()
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    hops: dict[str, int] = {}
    for _ in range(repeats):
        digests = []
        for kind, run in KINDS.items():
            taken, hops[kind], found = run(plan)
            rates[kind].append(hops[kind] / taken)
            digests.append(found)
        if digests[0] != digests[1] or digests[0] != digests[2] or not digests[0]:
            raise SystemExit(f"{name}: the three do not agree on the results")
    row: dict[str, object] = {
        "measured": f"{name}: packet-hops per CPU second",
        "repeats": repeats,
        "hops": hops["compiled"],
    }
    for kind, found in rates.items():
        row[kind] = {"median": statistics.median(found), "spread": [min(found), max(found)]}
    for kind in ("reference", "SimPy"):
        pairs = zip(rates["compiled"], rates[kind], strict=True)
        row[f"ratio to {kind}"] = statistics.median(ours / theirs for ours, theirs in pairs)
    return row


_ONE_RUN = """
import json, re, sys
from benchmarks.bench_simulator import CASES, _timed
from testbed.worlds.simulated.world import Simulation
if sys.argv[1] not in CASES:
    sys.exit(f"{sys.argv[1]}: the checkout has no such case")
records = []
simulation = Simulation(CASES[sys.argv[1]].plan(), records.append)
taken = _timed(simulation.run)
sums = re.findall("[0-9a-f]{64}", "".join(map(repr, records)))
print(json.dumps([simulation.packet_hops / taken, [simulation.packet_hops, *sums]]))
"""


def compare(name: str, repeats: int, others: Path) -> tuple[list[float], list[float]]:
    """Packet-hops per CPU second of this checkout and of another one. Ends the program when they did other work: sent
    another number of packets, or came to other sums. Further events may be told."""
    trees = Path(__file__).resolve().parents[1], others.resolve()
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        told = []
        for tree, found in zip(trees, rates, strict=True):
            done = subprocess.run(
                [sys.executable, "-P", "-c", _ONE_RUN, name], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)},
                stdout=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit(f"{name}: not run in {tree}")
            rate, history = json.loads(done.stdout)
            found.append(rate)
            told.append(history)
        if told[0] != told[1]:
            raise SystemExit(f"{name}: the two checkouts carry other packets, or come to other sums")
    return rates


def profile(case: Case) -> list[tuple[str, int, float]]:
    """(what, times, share of the time): inside the compiled loop, and for each reason why it came back, Python."""
    simulation = Simulation(case.plan(), lambda _: None)
    spent: Counter[str] = Counter()
    count: Counter[str] = Counter()
    clock = time.perf_counter
    agenda = simulation.agenda
    inside, answers = agenda._run, agenda._answers  # type: ignore[attr-defined]

    def run(pointer: int, limit: int) -> int:
        began = clock()
        why: int = inside(pointer, limit)
        spent["inside the compiled loop"] += clock() - began  # type: ignore[assignment]
        count["inside the compiled loop"] += 1
        return why

    def timed(name: str, answer: Callable[[], None]) -> Callable[[], None]:
        def call() -> None:
            began = clock()
            answer()
            spent[name] += clock() - began  # type: ignore[assignment]
            count[name] += 1

        return call

    agenda._run = run  # type: ignore[attr-defined]
    for why, answer in list(answers.items()):
        answers[why] = timed(_REASONS.get(Why(why), Why(why).name), answer)
    began = clock()
    simulation.run()
    total = clock() - began
    rows = [(name, count[name], seconds / total) for name, seconds in spent.most_common()]
    return [*rows, ("the rest (the end, going to and fro)", 1, 1 - sum(share for _, _, share in rows))]


_REASONS = {
    Why.CALL: "appointments of Python (start, node faults)", Why.OFFER: "handing an endpoint over",
    Why.PULL: "a request packet by the reference", Why.ADMIT_IN: "a fault decided, incoming",
    Why.ADMIT_OUT: "a fault decided, outgoing", Why.ARRIVE: "a frame by the reference",
    Why.SETTLE: "a host settled by the reference", Why.NEWS: "a message completed (take back, collective)",
    Why.TELL: "events of a switch", Why.WAKE: "alarms (digests, retransmission)", Why.ROOM: "room in a queue",
    Why.RECORD_IN: "a tap", Why.RECORD_OUT: "a tap", Why.DROPPED: "a tap",
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cases", default=",".join(CASES), help="names, `;` between them; default: all", type=_cases)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="take turns with that one's compiled loop")
    options = parser.parse_args()
    if load_core() is None:
        print("no compiled loop to measure: see python -m workloads.native.build", file=sys.stderr)
        return 3
    if options.against is not None:
        print(f"{'packet-hops per CPU second':38}{'this checkout':>20}{'the other':>20}{'ratio':>8}")
        for name in options.cases:
            here, there = compare(name, options.repeats, options.against)
            ratio = statistics.median(a / b for a, b in zip(here, there, strict=True))
            cells = "".join(
                f"{_cell({'median': statistics.median(found), 'spread': [min(found), max(found)]}):>20}"
                for found in (here, there)
            )
            print(f"{name:38}{cells}{ratio:8.2f}")
        return 0
    rows = [measure(name, CASES[name], options.repeats) for name in options.cases]
    profiles = {name: profile(CASES[name]) for name in options.cases}
    if options.json:
        print(json.dumps({"rows": rows, "profiles": profiles}, indent=1))
        return 0
    print(f"{'packet-hops per CPU second':38}{'compiled':>20}{'reference':>20}{'SimPy':>20}{'x ref.':>8}{'x SimPy':>8}")
    for name, row in zip(options.cases, rows, strict=True):
        cells = "".join(f"{_cell(row[kind]):>20}" for kind in KINDS)
        print(f"{name:38}{cells}{row['ratio to reference']:8.1f}{row['ratio to SimPy']:8.1f}")
    print(_NS3)
    for name, parts in profiles.items():
        print(f"\n{name}: share of the time of the compiled loop and what it comes back for")
        for what, times, share in parts:
            if share >= 0.005:
                print(f"  {share:6.1%}  {times:7d} x  {what}")
    return 0


def _cases(text: str) -> list[str]:
    """Names may hold a comma themselves."""
    names = [name for name in CASES if name in text.split(";") or text == ",".join(CASES)]
    if not names:
        raise argparse.ArgumentTypeError(f"no such case; there are: {'; '.join(CASES)}")
    return names


def _cell(found: object) -> str:
    assert isinstance(found, dict)
    low, high = found["spread"]
    return f"{found['median'] / 1e3:.0f} k ({low / 1e3:.0f}..{high / 1e3:.0f})"


if __name__ == "__main__":
    sys.exit(main())

"""What leaves past a hole over a fabric, and to whom: variants of rule A for leaves and spines, by what they cost.

`python -m benchmarks.release_orders [--schedules 150] [--seed 1]` runs drawn fabrics and jobs, with random loss on
every link, under each variant, and prints a table: how often senders went back, packets sent again, how often a timer
(not a NAK) did it, and the virtual time to completion relative to the variant in use. Same jobs, same losses for the
first pass of every packet. A variant that breaks a rule would say so.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from switch_nodes.netreduce.fabric import LeafRing, SpineRing
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.netreduce.ring import Ring
from testbed.faults.model import Loss
from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_fabric import FABRIC
from testbed.hunt.judge import Machines, run_and_judge
from testbed.scenario.geometry import INA_HEADER_BYTES
from testbed.scenario.model import Scenario
from workloads.events import Retransmission, WorkerFinished


class _SpineToLosersLeaf(SpineRing):
    """Only to leaf r, where the packet of rack r misses (connection r-1 leads there)."""

    def early(self, number: int) -> int:
        missing = Ring.early(self, number)
        return missing >> 1 | (missing & 1) << (self.size - 1)


class _SpineToNextLeaf(SpineRing):
    """Only on the connection whose own packet misses, as in a rack."""

    def early(self, number: int) -> int:
        return Ring.early(self, number)


class _SpineNothing(SpineRing):
    def early(self, number: int) -> int:
        return 0


class _SpineAll(SpineRing):
    def early(self, number: int) -> int:
        return self.everyone


class _LeafWithoutInbound(LeafRing):
    """Never to host 0 on the connection that comes down."""

    def early(self, number: int) -> int:
        return self.missing(*self.head()) & ~(1 << self.boundary)


class _LeafInboundAlways(LeafRing):
    """Whatever spine sends it."""

    def early(self, number: int) -> int:
        missing = self.missing(*self.head())
        return missing & ~(1 << self.boundary) if missing else 1 << self.boundary


class _LeafNothing(LeafRing):
    def early(self, number: int) -> int:
        return 0


class _LeafAll(LeafRing):
    def early(self, number: int) -> int:
        return self.everyone


def _program(leaf: type[LeafRing], spine: type[SpineRing]) -> type[NetReduceProgram]:
    return type("Variant", (NetReduceProgram,), {"leaf_ring_class": leaf, "spine_ring_class": spine})


VARIANTS: dict[str, type[NetReduceProgram]] = {
    "order (in use)": NetReduceProgram,
    "spine: only to leaf r": _program(LeafRing, _SpineToLosersLeaf),
    "spine: only to leaf r+1": _program(LeafRing, _SpineToNextLeaf),
    "spine: to nobody": _program(LeafRing, _SpineNothing),
    "spine: to all": _program(LeafRing, _SpineAll),
    "leaf: never inbound": _program(_LeafWithoutInbound, SpineRing),
    "leaf: inbound from any spine": _program(_LeafInboundAlways, SpineRing),
    "leaf: to nobody": _program(_LeafNothing, SpineRing),
    "leaf: to all": _program(_LeafAll, SpineRing),
    "asap (both to all)": _program(_LeafAll, _SpineAll),
    "nothing early": _program(_LeafNothing, _SpineNothing),
}


@dataclass(frozen=True, slots=True)
class _Cost:
    went_back: int
    again: int
    timers: int
    end_ns: int


def _scenario(seed: int, number: int) -> Scenario:
    """A drawn fabric with a longer job and a steady loss on every link."""
    calm = draw_schedule(seed, number, kind=FABRIC).scenario
    draw = Random(f"release {seed} {number}")
    job = replace(
        calm.job, message_packets=draw.choice((3, 4, 6)), window_messages=draw.choice((2, 3)), iterations=1, hello=True,
        straggler=None,
    )  # fmt: skip
    room = job.message_packets * 256 - INA_HEADER_BYTES
    links = tuple(link.name for link in calm.topology.links)
    transport = replace(calm.transport, path_mtu=256, retry_count=7, receive_late_ns=0, rnr_retry=7)
    return replace(
        calm, trace=False, job=replace(job, size_bytes=draw.randint(8, 14) * room), transport=transport,
        faults=(Loss("loss", links, rate=draw.choice((0.005, 0.01, 0.02))),),
        switch=replace(calm.switch, release="order"),
    )  # fmt: skip


def _cost(scenario: Scenario, program: type[NetReduceProgram]) -> _Cost | None:
    """None: a queue pair gave up."""
    failure, history = run_and_judge(scenario, Machines(create=program))
    finished = [record.t for record in history if isinstance(record.event, WorkerFinished)]
    if len(finished) < len(scenario.topology.hosts):
        return None
    if failure is not None:
        raise SystemExit(f"{program.__name__} breaks {failure.check} on {scenario.name}: {failure.detail}")
    back = [record for record in history if isinstance(record.event, Retransmission)]
    timers = sum(record.event.cause == "timeout" for record in back)
    return _Cost(len(back), sum(record.event.packets for record in back), timers, max(finished))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    rows: list[dict[str, _Cost]] = []
    left_out = 0
    for number in range(args.schedules):
        scenario = _scenario(args.seed, number)
        costs = {name: _cost(scenario, program) for name, program in VARIANTS.items()}
        whole = {name: cost for name, cost in costs.items() if cost is not None}
        left_out += len(whole) < len(costs)
        if len(whole) == len(costs):
            rows.append(whole)
    print(f"{len(rows)} schedules, seed {args.seed} ({left_out} left out: a queue pair gave up under some variant)")
    print(
        f"{'variant':30} {'went back':>9} {'of it timers':>12} {'sent again':>10} {'time, geo. mean':>15} "
        f"{'faster in':>9}"
    )
    for name in VARIANTS:
        mine = [row[name] for row in rows]
        ratios = [row[name].end_ns / row["order (in use)"].end_ns for row in rows]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
        faster = sum(ratio < 1 for ratio in ratios)
        total = (
            sum(cost.went_back for cost in mine),
            sum(cost.timers for cost in mine),
            sum(cost.again for cost in mine),
        )
        print(f"{name:30} {total[0]:9} {total[1]:12} {total[2]:10} {mean:15.3f} {faster:9}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

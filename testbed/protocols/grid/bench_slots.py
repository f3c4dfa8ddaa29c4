"""`tb bench grid --plan-only slots`: packets that leave the switches of GOAT's example, by who gets a slot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.bench.swept import Say
from testbed.protocols.grid.bench_planned import FoundTable, Planned, run_planned
from topologies import LinkShape, Topology
from topologies.assembly import Cable, assemble, host, switch

__all__ = ["example", "packets", "slots"]

_FRAGMENTS = "ABC"
_PRINTED = {"together": 9, "sticky": 17, "fcfs": 14, "goat": 13}
"""Packets in total: of the paper, and of plain first come, first served. together: fragments arrive together; sticky:
one worker after the other, and what went around once always does; fcfs: a free slot takes whatever comes."""
_SWITCHES = ("s1", "s2", "s3")


def example() -> Topology:
    """Workers w1, w2 on s1 and w3, w4 on s2, the server on s3; the switches are all linked to each other."""
    homes = {"w1": "s1", "w2": "s1", "w3": "s2", "w4": "s2", "server": "s3"}
    links = [*homes.items(), ("s1", "s3"), ("s1", "s2"), ("s2", "s3")]
    nodes = [host(number, name) for number, name in enumerate(homes, 1)] + [switch(name) for name in ("s1", "s2", "s3")]
    return assemble("goat", nodes, [Cable(a, b, LinkShape()) for a, b in links])


def packets(values: Mapping[str, Any], seed: int) -> dict[str, float]:
    """One slot per switch, three fragments of each worker. Packets that leave each switch, and all."""
    del seed
    sent = _placed() if values["variant"] == "goat" else _sent(str(values["variant"]))
    return {**{f"packets.{name}": count for name, count in zip(_SWITCHES, sent, strict=True)}, "packets": sum(sent)}


def _sent(rule: str) -> list[int]:
    from topologies.routing.gradients.slots import run_slots

    apart = [(name, worker) for worker in (1, 2) for name in _FRAGMENTS]
    order = sorted(apart) if rule == "together" else apart
    racks = [order, [(name, worker + 2) for name, worker in order]]
    tors, top = run_slots(racks, 1, sticky=rule != "fcfs")
    return [len(switch.sent) for switch in (*tors, top)]


def _placed() -> list[int]:
    """Each fragment has one switch (planner goat)."""
    from topologies.routing.gradients import Problem
    from topologies.routing.gradients.goat import place_submodels

    problem = Problem.of(example(), ("server",), 1.0)
    placed = place_submodels(problem, dict.fromkeys(_FRAGMENTS, 1), dict.fromkeys(_SWITCHES, 1)).packets()
    return [int(placed[name]) for name in _SWITCHES]


def slots(say: Say) -> FoundTable:
    """Missed: a total that is not the known one."""
    table = Planned(
        "plan-slots", "GOAT's example: packets that leave switches with one slot each, by who gets a slot",
        packets, tuple(_PRINTED), {}, ("packets.s1", "packets.s2", "packets.s3", "packets"),
    )  # fmt: skip
    finished = run_planned(say, table)
    missed = []
    for point, outcome in zip(finished.points, finished.outcomes, strict=True):
        rule, total = str(point.values["variant"]), outcome.figures["packets"]
        if total != _PRINTED[rule]:
            missed.append(f"{rule}: {total} packets instead of {_PRINTED[rule]}")
    return FoundTable(finished, missed=tuple(missed))

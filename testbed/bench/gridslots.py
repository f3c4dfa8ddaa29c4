"""`tb bench grid --plan-only slots`: packets that leave the switches of GOAT's example, by who gets a slot."""

from __future__ import annotations

from testbed.bench.gridtable import Say, Table
from topologies import LinkShape, Topology
from topologies.assembly import Cable, assemble, host, switch

__all__ = ["example", "slots"]

_FRAGMENTS = "ABC"
_PRINTED = {"together": 9, "sticky": 17, "fcfs": 14, "goat": 13}
"""packets in total: of the paper, and of plain first come, first served"""


def example() -> Topology:
    """Workers w1, w2 on s1 and w3, w4 on s2, the server on s3; the switches are all linked to each other."""
    homes = {"w1": "s1", "w2": "s1", "w3": "s2", "w4": "s2", "server": "s3"}
    links = [*homes.items(), ("s1", "s3"), ("s1", "s2"), ("s2", "s3")]
    nodes = [host(number, name) for number, name in enumerate(homes, 1)] + [switch(name) for name in ("s1", "s2", "s3")]
    return assemble("goat", nodes, [Cable(a, b, LinkShape()) for a, b in links])


def slots(say: Say) -> Table:
    """One slot per switch, three fragments of each worker. Missed: a total that is not the known one."""
    from topologies.routing.gradients import Problem
    from topologies.routing.gradients.goat import place_submodels
    from topologies.routing.gradients.slots import run_slots

    rows, missed = [], []
    apart = [(name, worker) for worker in (1, 2) for name in _FRAGMENTS]
    for rule, order, words in (
        ("together", sorted(apart), "first come, first served; fragments arrive together"),
        ("sticky", apart, "the same, one worker after the other; what went around once always does"),
        ("fcfs", apart, "the same; a free slot takes whatever comes"),
    ):
        racks = [order, [(name, worker + 2) for name, worker in order]]
        tors, top = run_slots(racks, 1, sticky=rule != "fcfs")
        rows.append((rule, [len(switch.sent) for switch in (*tors, top)], words))
    problem = Problem.of(example(), ("server",), 1.0)
    switches = ("s1", "s2", "s3")
    placed = place_submodels(problem, dict.fromkeys(_FRAGMENTS, 1), dict.fromkeys(switches, 1)).packets()
    rows.append(("goat", [int(placed[name]) for name in switches], "each fragment has one switch (planner goat)"))
    for rule, sent, _ in rows:
        if sum(sent) != _PRINTED[rule]:
            missed.append(f"{rule}: {sum(sent)} packets instead of {_PRINTED[rule]}")
    say("slots: GOAT's example")
    return Table(
        "GOAT's example: packets that leave switches with one slot each",
        ("rule", "S1", "S2", "S3 to the server", "total", "who gets a slot"),
        tuple((rule, *map(str, sent), str(sum(sent)), words) for rule, sent, words in rows),
        tuple(missed),
    )

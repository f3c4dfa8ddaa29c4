"""Schedules of the plain parameter server: those of ATP, with optimisations drawn in addition.

Some run on fabrics of two and three tiers, whose switches add and copy along trees.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from switch_nodes.aggregators.tables import aggregator_table, atp_knobs
from testbed.hunt.contract import Hunted
from testbed.hunt.draw_datagrams import draw_datagram_schedule
from testbed.hunt.draw_link import other_shape
from testbed.hunt.kinds import DatagramHunt
from testbed.hunt.survival_datagrams import blocks_of
from testbed.protocols.parts.hunt_server_steps import NO_REMINDER, ONE_SIZE, OVERRUN, SERVER_STEPS, never_in_blocks
from testbed.protocols.ps.keys import PsKeys
from testbed.scenario.model import Job, Scenario
from topologies import Topology, fat_tree

__all__ = ["HUNT"]

_HOLDS = 0.25
"""share of those without floats in which the server waits for the whole gradient"""
_THREE_TIERS = 0.1
_SPRAYS = 0.6
"""share of the fabrics in which block after block takes another tree"""
_PODS = 4
_NO_PRIORITY = "packets have priority 0, all of them"
_NO_EARLY_RESULT = "no switch makes a result"


class _PsHunt(DatagramHunt):
    def draw(
        self, dice: Random, hunted: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
    ) -> Scenario:
        """Both optimisations are drawn in half of all, each alone in a fifth."""
        return draw_datagram_schedule(dice, hunted, base, program, traced=traced, seed=seed, change=_changed)


HUNT = _PsHunt(
    {"float32": 41, "int32": 49, "int32sat": 10},
    (*aggregator_table(atp_knobs()).steps, *SERVER_STEPS),
    {
        **dict.fromkeys(("slot filling/mismatch", "slot done/mismatch", "block open/mismatch"), ONE_SIZE),
        **dict.fromkeys(("slot filling/other_lower", "slot done/other_lower"), _NO_PRIORITY),
        "slot empty/completing": "who is alone behind a switch only passes it",
        "block unknown/overrun": OVERRUN,
        **never_in_blocks("copy", _NO_EARLY_RESULT),
        **never_in_blocks("nothing_there", NO_REMINDER),
    },
    every_tier=True,
)


def _changed(draw: Random, scenario: Scenario) -> Scenario:
    aggregation, multicast = draw.choices(
        ((True, True), (True, False), (False, True), (False, False)), (50, 20, 20, 10)
    )[0]
    floats = any(job.dtype == "float32" for job in scenario.all_jobs)
    keys = PsKeys(aggregation, multicast, streaming=floats or draw.random() >= _HOLDS)
    scenario = _over_fabric(draw, scenario)
    jobs = (replace(job, own=keys) for job in scenario.jobs)
    if not keys.streaming:  # the window is the whole gradient then, and the argument counts with it
        jobs = (replace(job, window_packets=max(job.window_packets, blocks_of(scenario, job))) for job in jobs)
    return replace(scenario, job=replace(scenario.job, own=keys), jobs=tuple(jobs))


def _over_fabric(draw: Random, scenario: Scenario) -> Scenario:
    """Some in a fat tree, on some of its hosts; what has several ways may spray."""
    used = sorted({name for job in scenario.jobs for name in (*job.hosts, job.server)})
    if draw.random() < _THREE_TIERS:
        uplink = other_shape(draw, scenario.link) if draw.random() < 0.3 else None
        topology = fat_tree(_PODS, scenario.link, uplink)
        if len(used) <= len(topology.hosts):
            places = draw.sample([host.name for host in topology.hosts], len(used))
            scenario = _moved(scenario, topology, dict(zip(used, places, strict=True)))
    if len(scenario.topology.switches) > 1 and draw.random() < _SPRAYS:
        scenario = replace(scenario, topology=replace(scenario.topology, multipath="spray"))
    return scenario


def _moved(scenario: Scenario, topology: Topology, places: dict[str, str]) -> Scenario:
    def on(job: Job) -> Job:
        return replace(job, hosts=tuple(places[name] for name in job.hosts), server=places[job.server])

    job = replace(scenario.job, server=topology.hosts[-1].name)
    return replace(scenario, topology=topology, job=job, jobs=tuple(map(on, scenario.jobs)))

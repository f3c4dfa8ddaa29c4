"""Forged frames in numbers: no host, server or switch program raises, and no packet that never left is acknowledged or
answered.

`FORGED_FRAMES` sets how many all of them send (100,000 unless set). What a forger can still do: none of these
protocols authenticates its peers, so a forged result for a packet that did leave is taken, as on a real network.
"""

from __future__ import annotations

import json
import os
from random import Random

import pytest

from testbed.history.codec import record_fields
from tests.support.forging import attack, plan_of, record_run, replay_to_mute
from workloads.events import CollectiveCompleted, DatagramStatistics, WorkerFinished
from workloads.hosts import create_host
from workloads.machine import Event

SMALL = "job.size=40kB"
SCENARIOS = {
    "switchml": (SMALL,), "switchml-uc": (SMALL,), "switchml-two-jobs": (),
    "atp": (SMALL,), "atp-two-jobs": (), "esa": (SMALL,), "esa-scarce": (), "strategy-esa": (),
    "ps": (SMALL,), "ps-plain": (SMALL,), "ps-fat-tree-lossy": (), "ps-core-restarted": (),
    "grid": (SMALL,), "grid-atp": (SMALL,), "grid-link-down": (),
    "dlcp": (SMALL,), "dlcp-ina": (SMALL,), "dlcp-ring": (SMALL,), "dlcp-classes": (),
    "repair": (), "repair-msr-lossy": (), "repair-mbr-lossy": (), "repair-two-jobs": (),
    "rack": (SMALL, "job.message_packets=8"), "rack-send": (SMALL,), "ring": (SMALL,), "irn-lossy": (),
    "irn-rack-ring-sprayed": (), "irn-held-spine-leaf-lossy": (SMALL,), "spine-leaf-trimmed": (SMALL,),
    "incast-trimmed": (), "congested": (), "accelerator": (SMALL,), "priority": (), "hierarchical": (),
    "sharded-ps": (SMALL,), "mixed-netreduce-ring": (),
}  # fmt: skip
FRAMES = int(os.environ.get("FORGED_FRAMES", "100000"))
LIKELY, EACH, MOST_RUNS = 0.75, 2_000, 10_000
"""how likely one more forged frame follows; forged frames of one run, at most"""


def fed_by_attacks(name: str, frames: int, *, batched: bool) -> int:
    """Of several runs, since an attack soon ends a job."""
    plan, fed, seed = plan_of(name, *SCENARIOS[name]), 0, 0
    while fed < frames and seed < MOST_RUNS:
        more, records = attack(plan, 1_000 * seed, LIKELY, enough=min(EACH, frames - fed), batched=batched)
        json.dumps([record_fields(record) for record in records])
        fed, seed = fed + more, seed + 1
    return fed


@pytest.mark.parametrize("batched", [False, True], ids=["verbs", "batches"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_no_machine_raises_on_forged_frames(name: str, batched: bool) -> None:
    frames = -(-FRAMES // (2 * len(SCENARIOS)))
    assert fed_by_attacks(name, frames, batched=batched) >= frames


SENDERS = ("switchml", "switchml-uc", "atp", "esa", "ps", "grid", "dlcp", "dlcp-ring", "repair")
"""scenarios whose hosts, the receiving ones excepted, must have a packet back before an iteration is complete"""
RECEIVERS = {"dlcp": "h4", "repair": "h5"}
"""the server, and the newcomer: all that they need comes from others"""
COUNT_ANSWERS = ("dlcp", "dlcp-ring")
"""their statistics count acknowledgements, and vectors of others, too"""


@pytest.mark.parametrize("leaves", [0, 5])
@pytest.mark.parametrize("name", SENDERS)
def test_what_never_left_has_no_result(name: str, leaves: int) -> None:
    """The frames of an honest run, with the right addresses and contents, come to hosts that did not send theirs."""
    plan = plan_of(name, SMALL)
    heard = record_run(plan)
    for config in plan.workers:
        if RECEIVERS.get(name) == config.name:
            continue
        told: list[Event] = []
        machine = create_host(config.reborn(0), 0)
        fed = replay_to_mute(machine, heard[config.name], Random(7), leaves=leaves, likely=0.3, told=told.append)
        assert fed > 50
        assert not [event for event in told if isinstance(event, CollectiveCompleted)]
        if name not in COUNT_ANSWERS:
            (statistics,) = (event for event in told if isinstance(event, DatagramStatistics))
            assert statistics.results_received <= statistics.packets_sent - statistics.packets_retransmitted <= leaves


@pytest.mark.parametrize("name", ["rack", "ring", "irn-lossy", "irn-held-spine-leaf-lossy", "hierarchical"])
def test_a_connection_hears_nothing_of_what_never_left(name: str) -> None:
    """Results come with the packets of a peer, whoever sends them; but no worker finishes before its own arrived."""
    plan = plan_of(name, SMALL)
    heard = record_run(plan)
    for config in plan.workers:
        told: list[Event] = []
        machine = create_host(config.reborn(0), 0)
        replay_to_mute(machine, heard[config.name], Random(7), leaves=3, likely=0.3, told=told.append)
        assert not [event for event in told if isinstance(event, WorkerFinished)]

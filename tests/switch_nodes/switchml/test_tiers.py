"""Leaf switches and their root: every case on the real program, and each broken program caught by its case."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from switch_nodes.switchml import SwitchMlProgram
from switch_nodes.switchml.tables import LEAF_SLOT_TABLE, SLOT_TABLE, PoolSlotEvent, PoolSlotState
from tests.support.switchml_bench import SERVICE_IP, over
from tests.support.switchml_framings import FRAMINGS
from tests.support.switchml_tier_cases import CASES, MUTANTS
from tests.support.switchml_tiers import ROOT, Tiers, leaf_member, tier_configs
from workloads.datagrams.blocks import ContributionIgnored, SlotChanged
from workloads.errors import ScenarioError
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, decode_datagram, encode_datagram


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    CASES[name](SwitchMlProgram)


@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_mutant_is_killed(mutant: type[SwitchMlProgram], name: str) -> None:
    with pytest.raises(AssertionError):
        CASES[name](mutant)


@pytest.mark.parametrize(
    ("changes", "source", "port", "reason"),
    [
        ({"slot": 4}, SERVICE_IP, 2, "bad_slot"), ({"bitmap0": 0b1111}, SERVICE_IP, 2, "malformed"),
        ({"fan_in0": 4}, SERVICE_IP, 2, "malformed"), ({"op": 1}, SERVICE_IP, 2, "malformed"),
        ({}, leaf_member(1, 0).ip, 2, "malformed"), ({}, SERVICE_IP, 1, "wrong_port"),
        ({"sequence": 9}, SERVICE_IP, 2, "mismatch"), ({"nelem": 1}, SERVICE_IP, 2, "mismatch"),
        ({"flags": 64}, SERVICE_IP, 2, "stale"),
    ],
)  # fmt: skip
def test_sums_that_do_not_fit_are_dropped_and_told(
    changes: dict[str, int], source: bytes, port: int, reason: str
) -> None:
    net = Tiers()
    net.lose(ROOT, "leaf0")
    net.send_all(0)
    good = decode_datagram(net.kept[ROOT, "leaf0"][0][2])
    assert good is not None
    header = good.header._replace(**changes)
    envelope = Envelope(b"\x02aaaaa", leaf_member(0, 0).mac, source, good.dst_ip, AGGREGATION_PORT)
    net.flights.append(
        ("leaf0", port, encode_datagram(envelope, AGGREGATION_PORT, header, good.payload[: 4 * header.nelem]))
    )
    assert net.settle() == {}
    told = ContributionIgnored(7, -1, header.sequence - 1, header.slot, reason)
    assert net.told(ContributionIgnored) == [("leaf0", told)]
    assert net.send(0, 0) == dict.fromkeys((0, 1), net.total(0))


def test_what_leaves_do_is_counted() -> None:
    net = Tiers()
    net.lose("leaf0", ROOT)
    net.send_all(0)
    net.send(0, 0)
    for name, expected in (("leaf0", (2, 1)), ("leaf1", (1, 1))):
        program = net.switches[name]
        program.finish(net.now)
        assert (program.counters["partials_out"], program.counters["sums_in"]) == expected
        assert program.counters["results_out"] == 2
    net.switches[ROOT].finish(net.now)
    assert not {"partials_out", "sums_in"} & net.switches[ROOT].counters.keys()


def test_a_slot_that_waits_for_the_root_is_open() -> None:
    net = Tiers()
    net.send_all(0, (0, 1))
    assert net.open_at_end() == {"leaf0": 1, "leaf1": 0, ROOT: 1}


def test_a_block_number_begins_anew_over_two_tiers() -> None:
    net = Tiers()
    last = (1 << 32) - net.slots
    net.send_all(last)
    (late,) = net.kept[ROOT, "leaf0"]
    net.send_all(0)
    net.send_all(net.slots, (0, 1))
    net.flights.append(late)
    assert net.settle() == {}
    assert net.reasons == [("leaf0", "stale")]
    assert net.send_all(net.slots, (2, 3)) == dict.fromkeys(range(4), net.total(net.slots))


def test_honest_and_dishonest_packets_reach_every_pair_of_a_leaf_and_no_other() -> None:
    draw, steps = random.Random(5), set()
    for run in range(60):
        net = Tiers(racks=((1, 1), (3, 1))[run % 2], trace=True)
        at, sums = [0] * net.size, []
        for _ in range(80):
            rank = draw.randrange(net.size)
            step = draw.choice((0, 0, 0, 0, -1, -1, -2, 1, 2))
            block = max(0, at[rank] + step) * net.slots
            if draw.random() < 0.2:
                net.lose(ROOT, "leaf0")
            results = net.send(rank, block)
            sums = net.kept[ROOT, "leaf0"]
            if sums and draw.random() < 0.5:
                net.flights.append(draw.choice(sums[-3:]))
                results |= net.settle()
            for to, values in results.items():
                if values == net.total(at[to] * net.slots):
                    at[to] += 1
        steps |= {
            (PoolSlotState[e.state.upper()], PoolSlotEvent[e.cause.upper()], PoolSlotState[e.next.upper()])
            for node, e in net.events
            if isinstance(e, SlotChanged) and node == "leaf0"
        }
    assert steps == {(state, event, after) for (state, event), (after, _) in LEAF_SLOT_TABLE.items()}


def test_the_tables_differ_in_what_waits_for_the_root_alone() -> None:
    changed = {pair for pair, step in LEAF_SLOT_TABLE.items() if SLOT_TABLE.get(pair) != step}
    waits = {pair for pair in changed if PoolSlotState.WAITING in (pair[0], LEAF_SLOT_TABLE[pair][0])}
    assert changed - waits == {(PoolSlotState.DONE, PoolSlotEvent.SUM)}
    assert set(SLOT_TABLE) <= set(LEAF_SLOT_TABLE)


@pytest.mark.parametrize(
    ("switch", "changes", "problem"),
    [
        ("leaf0", {"levels": ((0, 1), (2,))}, "racks; found"),
        ("leaf0", {"levels": ((0, 1, 2, 3), ())}, "racks; found"),
        (ROOT, {"leaves": (leaf_member(0, 0),)}, r"leaf switches; found \[0\]; allowed: 2, one for each rack"),
        (ROOT, {"leaves": (leaf_member(0, 0), replace(leaf_member(1, 1), ip=SERVICE_IP))}, "addresses of leaf"),
        (ROOT, {"leaves": (leaf_member(0, 0), leaf_member(1, 2))}, r"port of leaf 1; found 2; allowed: 0 \.\. 1"),
        ("leaf0", {"leaves": (leaf_member(0, 3), leaf_member(1, 0))}, r"port of leaf 0; found 3"),
        ("leaf0", {"own": 2}, "place in the tiers; found rack 2"),
        ("leaf0", {"collects": True}, "place in the tiers; found rack 0, collects: True"),
        (ROOT, {"collects": False}, "place in the tiers; found rack None, collects: False"),
    ],
)  # fmt: skip
def test_tiers_that_cannot_be_are_refused(switch: str, changes: dict[str, Any], problem: str) -> None:
    config = tier_configs((2, 2))[switch]
    (job,) = config.jobs
    assert job.levels is not None
    SwitchMlProgram(config)
    levels = replace(
        job.levels,
        racks=changes.get("levels", job.levels.racks),
        own=changes.get("own", job.levels.own),
        collects=changes.get("collects", job.levels.collects),
    )
    bad = replace(job, levels=levels, leaves=changes.get("leaves", job.leaves))
    with pytest.raises(ScenarioError, match=problem):
        SwitchMlProgram(replace(config, jobs=(bad,)))


def test_queue_pairs_over_two_tiers_are_refused() -> None:
    config = tier_configs((2, 2))[ROOT]
    with pytest.raises(ScenarioError, match="framing over two tiers; found queue pairs; allowed: UDP"):
        SwitchMlProgram(replace(config, jobs=(over(FRAMINGS["uc"], config.jobs[0]),)))

"""Program `ps`: which packets are for it, and what of them it does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.entrance import Entrance
from switch_nodes.ps import PsProgram
from switch_nodes.ps.trees import TreeJob
from tests.support.aggregator_bench import Bench, contribution, job_config
from tests.support.ps_bench import LEFT, OTHER_UP, RIGHT, UP, TreeBench, job_in_trees
from tests.support.switchml_bench import SERVICE_IP
from workloads.wire.aggregation import DatagramFlag, Policy

EDGE, RESEND, COLLISION = int(DatagramFlag.EDGE), int(DatagramFlag.RESEND), int(DatagramFlag.COLLISION)
ONE, OTHER, ELSEWHERE = 0, 1, 2
"""blocks of the three trees"""


@pytest.mark.parametrize("adds", [True, False])
def test_a_job_without_aggregation_passes_packets_on(adds):
    job = job_in_trees(adds=adds)
    frame = contribution(job, 1, 0, policy=Policy.PS, fan_in0=2, fan_in1=3)
    arrival = AggregatorArrival()
    arrival.meet(LEFT, frame)
    told = Entrance({7: TreeJob(job)}, PsProgram.policy).admit(arrival)
    assert told == ("" if adds else None)


class Passes(AggregatorProgram):
    """A subclass of what PsProgram is made of."""

    def collide(self, a):
        self.pass_on(a)


def test_a_program_of_two_bases_follows_trees():
    bench = TreeBench()
    bench.program = type("Both", (Passes, PsProgram), {})(bench.program.config)
    bench.sums(LEFT, (0, 1), ONE, flags=EDGE)
    assert [each.port for each in bench.result(UP, ONE)] == [LEFT, RIGHT]
    assert [each.port for each in bench.result(UP, ONE, to=3)] == [RIGHT]


def test_sums_of_the_switches_below_are_added_and_leave_along_the_tree():
    bench = TreeBench()
    assert bench.sums(LEFT, (0, 1), ONE, flags=EDGE) == []
    (sent,) = bench.sums(RIGHT, (2, 3), ONE, flags=EDGE)
    total = [sum(column) for column in zip(*(Bench.values(rank, ONE) for rank in range(4)), strict=True)]
    assert (sent.port, sent.bitmap, sent.flags, sent.values) == (UP, 0b1111, EDGE, total)
    assert sent.header.bitmap1 == 0b011, "two racks are inside as a whole"


def test_the_sum_of_a_rack_of_one_worker_is_its_packet():
    right = replace(job_in_trees().trees[0].children[1], ranks=0b10000)
    first, second, _ = job_in_trees().trees
    bench = TreeBench()
    bench.job = replace(bench.job, trees=(replace(first, children=(first.children[0], right)), second, None))
    bench.program = PsProgram(replace(bench.program.config, jobs=(bench.job,)))
    assert bench.sums(LEFT, (0, 1), ONE, flags=EDGE) == []
    (sent,) = bench.sums(RIGHT, (4,), ONE)
    assert (sent.port, sent.bitmap) == (UP, 0b10011)


def test_where_nothing_meets_packets_pass_and_no_slot_is_taken():
    bench = TreeBench()
    (sent,) = bench.sums(LEFT, (0, 1), OTHER, flags=EDGE)
    assert (sent.port, sent.bitmap, sent.flags) == (OTHER_UP, 0b0011, EDGE)
    (sent,) = bench.sums(LEFT, (1,), OTHER, flags=RESEND)
    assert (sent.port, sent.bitmap) == (OTHER_UP, 0b0010)
    assert bench.occupied() == []


def test_parts_of_what_is_below_pass_along_the_tree():
    bench = TreeBench()
    for ranks, flags in (((0,), COLLISION), ((0, 1), COLLISION | EDGE), ((1,), 0), ((3,), RESEND)):
        (sent,) = bench.sums(LEFT if ranks[0] < 2 else RIGHT, ranks, ONE, flags=flags)
        assert (sent.port, sent.flags) == (UP, flags)
    assert bench.occupied() == []


def test_what_is_sent_again_takes_the_partial_sum_along():
    bench = TreeBench()
    bench.sums(LEFT, (0, 1), ONE, flags=EDGE)
    (sent,) = bench.sums(RIGHT, (2,), ONE, flags=RESEND)
    assert (sent.port, sent.bitmap, sent.flags) == (UP, 0b0111, RESEND)
    bench.sums(LEFT, (0, 1), ONE, flags=EDGE)
    (sent,) = bench.sums(LEFT, (0,), ONE, flags=RESEND)
    assert (sent.bitmap, sent.values) == (
        0b0011,
        [sum(c) for c in zip(Bench.values(0, 0), Bench.values(1, 0), strict=True)],
    )
    assert bench.occupied() == []


def test_a_repeated_sum_is_not_added_again():
    bench = TreeBench()
    bench.sums(LEFT, (0, 1), ONE, flags=EDGE)
    assert bench.sums(LEFT, (0, 1), ONE, flags=EDGE) == []
    assert bench.reasons == ["duplicate"]


def test_a_block_of_a_tree_that_is_elsewhere_passes_as_through_a_plain_switch():
    bench = TreeBench()
    (sent,) = bench.sums(LEFT, (0, 1), ELSEWHERE, flags=EDGE)
    assert sent.port == bench.job.server.port
    (sent,) = bench.result(UP, ELSEWHERE, to=3)
    assert sent.port == bench.job.members[3].port


@pytest.mark.parametrize(
    ("port", "ranks", "flags", "reason"),
    [
        (RIGHT, (0, 1), EDGE, "wrong_port"),
        (UP, (0, 1), EDGE, "wrong_port"),
        (LEFT, (2, 1), 0, "malformed"),
        (LEFT, (1,), EDGE, "malformed"),
    ],
)
def test_contributions_come_from_below_and_hold_what_is_there(port, ranks, flags, reason):
    bench = TreeBench()
    assert bench.sums(port, ranks, ONE, flags=flags) == []
    assert bench.reasons == [reason]


def test_an_answer_with_the_whole_sum_passes_from_anywhere_below():
    bench = TreeBench()
    (sent,) = bench.sums(LEFT, (4, 3, 2, 0, 1), ONE, flags=RESEND, fan_in0=2)
    assert (sent.port, sent.bitmap) == (UP, 0b11111)


def test_results_are_copied_where_paths_part():
    bench = TreeBench()
    bench.sums(LEFT, (0, 1), ONE, flags=EDGE)
    sent = bench.result(UP, ONE)
    assert [(each.port, each.dst_ip) for each in sent] == [(LEFT, SERVICE_IP), (RIGHT, SERVICE_IP)]
    assert [each.frame[:6] for each in sent] == [bench.job.members[rank].mac for rank in (0, 2)]
    assert bench.occupied() == [], "it frees the slot"
    assert [each.port for each in bench.result(OTHER_UP, OTHER)] == [LEFT]


def test_a_worker_at_the_switch_gets_its_copy_itself():
    job = replace(job_config(workers=3), trees=job_in_trees().trees)
    children = tuple(replace(job.trees[0].children[0], port=rank, ranks=1 << rank, host=rank) for rank in range(3))
    bench = TreeBench()
    bench.job = replace(job, trees=(replace(job.trees[0], up=job.server.port, children=children, is_last=True),))
    bench.program = PsProgram(replace(bench.program.config, jobs=(bench.job,)))
    sent = bench.result(job.server.port, ONE)
    assert [(each.port, each.dst_ip) for each in sent] == [(rank, job.members[rank].ip) for rank in range(3)]


def test_a_result_for_one_worker_stays_in_the_tree_and_frees_the_slot():
    bench = TreeBench()
    bench.sums(LEFT, (0, 1), ONE, flags=EDGE)
    (sent,) = bench.result(UP, ONE, to=3)
    assert (sent.port, sent.dst_ip) == (RIGHT, bench.job.members[3].ip)
    assert bench.occupied() == []


def test_results_come_from_above():
    bench = TreeBench()
    assert bench.result(LEFT, ONE) == []
    assert bench.result(OTHER_UP, ONE) == [], "that is the other tree's"
    assert bench.reasons == ["wrong_port"] * 2

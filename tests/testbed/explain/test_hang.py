"""Hangs that are planted in dumps of flight recorders are named, and healthy ones are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.explain.hang import Hang, find_hang
from testbed.explain.hang_text import hang_document, hang_text
from workloads.traces.flight import COMPLETED, SCHEDULED, STARTED, FlightDump, FlightGroup, FlightOp


class Ranks:
    """Dumps that grow post by post."""

    def __init__(self, size: int, **groups: tuple[int, ...]) -> None:
        whole = {"0": FlightGroup("0", "default_pg", tuple(range(size)))}
        named = {name: FlightGroup(name, "undefined", ranks) for name, ranks in groups.items()}
        self.dumps = [FlightDump(rank, whole | named) for rank in range(size)]
        self._now = 0

    def post(
        self,
        rank: int,
        state: str = COMPLETED,
        what: str = "all_reduce",
        group: str = "0",
        size: int = 5,
        peer: int = -1,
    ) -> None:
        dump = self.dumps[rank]
        number = 1 + sum(op.group == group and op.is_mail == (peer >= 0) for op in dump.ops)
        self._now += 1
        op = FlightOp(group, number, what, state, peer, ((size,),), ((size,),), ("Float",), self._now)
        self.dumps[rank] = replace(dump, ops=(*dump.ops, op))

    def find(self, *lost: int) -> Hang:
        return find_hang([dump for dump in self.dumps if dump.rank not in lost])


def test_a_rank_that_posted_nothing_is_named() -> None:
    ranks = Ranks(4)
    for rank in range(4):
        ranks.post(rank)
    for rank in (0, 1, 3):
        ranks.post(rank, SCHEDULED, "broadcast", size=7)
    found = ranks.find()
    (call,) = found.calls
    assert (call.waiting, call.missing, found.ends) == ((0, 1, 3), (2,), ("rank 2",))
    assert call.text == "collective 2 of group 0 (default_pg), broadcast of 7 Float"
    text = hang_text(found)
    assert "ranks 0, 1, 3 wait in collective 2 of group 0 (default_pg), broadcast of 7 Float." in text
    assert "  rank 2 did not post it.\n" in text
    assert "  rank 2: collective 1, all_reduce of 5 Float (completed)\n" in text


def test_the_first_collective_that_hangs_counts() -> None:
    ranks = Ranks(2)
    for _ in range(3):
        ranks.post(0, SCHEDULED)
    assert [call.text[:12] for call in ranks.find().calls] == ["collective 1"]


def test_a_rank_without_a_dump_is_waited_for() -> None:
    ranks = Ranks(3)
    for rank in range(3):
        ranks.post(rank, STARTED)
    found = ranks.find(1)
    assert found.lost == (1,)
    assert found.calls[0].missing == (1,)
    assert "No dump of rank 1." in hang_text(found)


def test_two_groups_in_another_order_are_a_circle() -> None:
    ranks = Ranks(2, a=(0, 1), b=(0, 1))
    ranks.post(0, SCHEDULED, group="a")
    ranks.post(1, SCHEDULED, group="b")
    found = ranks.find()
    assert [wait.node for wait in found.circle] in (["rank 0", "rank 1"], ["rank 1", "rank 0"])
    assert "Circle: rank " in hang_text(found)


def test_waiting_ends_at_the_rank_that_waits_for_no_other() -> None:
    """Rank 2 is late in its group, because it waits for rank 3 in another one."""
    ranks = Ranks(4, a=(0, 1, 2), b=(2, 3))
    for rank in (0, 1):
        ranks.post(rank, SCHEDULED, group="a")
    ranks.post(2, SCHEDULED, group="b")
    found = ranks.find()
    assert found.ends == ("rank 3",)
    assert not found.circle


@pytest.mark.parametrize(("what", "size"), [("broadcast", 5), ("all_reduce", 6)])
def test_posts_that_differ_are_shown(what: str, size: int) -> None:
    ranks = Ranks(3)
    for rank in (0, 1):
        ranks.post(rank, STARTED)
    ranks.post(2, STARTED, what, size=size)
    (call,) = ranks.find().calls
    assert call.missing == (2,)
    assert call.differs == f"ranks 0, 1 posted all_reduce of 5 Float; rank 2 posted {what} of {size} Float"
    assert call.differs in hang_text(ranks.find(), 200)


def test_a_rank_that_did_not_start_it_is_late() -> None:
    ranks = Ranks(2)
    ranks.post(0, STARTED)
    ranks.post(1, SCHEDULED)
    (call,) = ranks.find().calls
    assert (call.missing, call.late) == ((), (1,))


def test_the_network_is_named_where_all_posted_the_same() -> None:
    ranks = Ranks(2)
    for rank in range(2):
        ranks.post(rank, STARTED)
    (call,) = ranks.find().calls
    assert (call.missing, call.late, call.differs) == ((), (), "")
    assert "the network, or a rank's device, did not complete it" in hang_text(ranks.find(), 200)


def test_a_send_without_a_recv_waits_for_its_peer() -> None:
    ranks = Ranks(3)
    ranks.post(0, SCHEDULED, "send", peer=2)
    ranks.post(1, SCHEDULED, "recv", peer=2)
    ranks.post(2, SCHEDULED, "send", peer=1)
    (call,) = ranks.find().calls
    assert call.text == "a recv for the send of 5 Float of group 0 (default_pg)"
    assert (call.waiting, call.missing) == ((0,), (2,))


def test_ranks_of_a_group_that_no_dump_lists() -> None:
    """Gloo lists no ranks: the group of all has all, and others those that know them."""
    groups = {"0": FlightGroup("0", "default_pg"), "1": FlightGroup("1", "pair")}
    op = FlightOp("1", 1, "all_reduce", SCHEDULED)
    whole = FlightOp("0", 1, "all_reduce", SCHEDULED)
    dumps = [FlightDump(0, groups, (op, whole)), FlightDump(1, groups, ()), FlightDump(2, {}, ())]
    assert [(call.waiting, call.missing) for call in find_hang(dumps).calls] == [((0,), (1, 2)), ((0,), (1,))]


def test_a_status_counts_where_the_oldest_posts_are_gone() -> None:
    group = FlightGroup("0", "default_pg", (0, 1), 9, 8)
    ahead = FlightOp("0", 9, "all_reduce", SCHEDULED)
    dumps = [FlightDump(0, {"0": group}, (ahead,)), FlightDump(1, {"0": replace(group, posted=8)}, ())]
    assert find_hang(dumps).calls[0].missing == (1,)
    dumps[1] = FlightDump(1, {"0": replace(group, posted=9)}, ())
    assert find_hang(dumps).calls[0].missing == ()


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_a_healthy_training_is_not_blamed(rounds: int) -> None:
    ranks = Ranks(3, a=(0, 2))
    for _ in range(rounds):
        for rank in (2, 0, 1):
            ranks.post(rank)
        for rank in (0, 2):
            ranks.post(rank, group="a")
        ranks.post(0, what="send", peer=1)
        ranks.post(1, what="recv", peer=0)
    found = ranks.find()
    assert (found.calls, found.ends, found.circle) == ((), (), ())
    assert "no rank waits for another" in hang_text(found)
    assert hang_document(found)["calls"] == []

"""Which nodes belong together, and what never ends."""

from __future__ import annotations

import pytest

from workloads.errors import ScenarioError
from workloads.traces.goal import read_goal
from workloads.traces.matching import MESSAGE, TraceOperation, match
from workloads.traces.model import JobTrace, TraceNode


def goal(*ranks: str) -> JobTrace:
    blocks = "\n".join(f"rank {rank} {{ {body} }}" for rank, body in enumerate(ranks))
    return read_goal(f"num_ranks {len(ranks)}\n{blocks}", "t")


def call(kind: str, number: int = 0, **values: object) -> TraceNode:
    return TraceNode(number, f"n{number}", kind, **values)  # type: ignore[arg-type]


def test_a_message() -> None:
    assert match(goal("calc 1 send 9b to 1 tag 3", "recv 9b from 0 tag 3")) == (
        TraceOperation(MESSAGE, (0, 1), (1,), 9, tag=3),
    )


def test_a_receive_of_any_rank_and_tag() -> None:
    match(goal("recv 9b from -1 tag -1 recv 9b from 2 tag 5", "send 9b to 0 tag 1", "send 9b to 0 tag 5"))


def test_two_ranks_that_send_before_they_receive() -> None:
    """A send does not wait for its receive."""
    match(goal("a: send 9b to 1 b: recv 9b from 1 b requires a", "a: send 9b to 0 b: recv 9b from 0 b requires a"))


def test_calls_of_a_group_match_in_their_order() -> None:
    ranks = ((call("all_reduce", 0, bytes=8), call("barrier", 1)), (call("all_reduce", 5, bytes=8), call("barrier", 2)))
    found = match(JobTrace("t", ranks))
    assert [(each.kind, each.places) for each in found] == [("all_reduce", (0, 0)), ("barrier", (1, 1))]


def test_the_root_is_a_place_in_the_group() -> None:
    group = (2, 1)
    one = (call("broadcast", bytes=8, group=group, root=1),)
    (found,) = match(JobTrace("t", ((), one, one)))
    assert (found.ranks, found.root) == ((2, 1), 1)


CALLED_LAST = call("barrier", after=(0,))


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (goal("recv 9b from 1", ""), "t:2: rank 0, node 1: waits for a message of rank 1 that never comes; found recv"),
        (goal("recv 9b from -1", ""), "t:2: rank 0, node 1: waits for a message of any rank that never comes;"),
        (goal("recv 9b from 1 tag 1", "send 9b to 0 tag 2"), "t:2: rank 0, node 1: waits for a message of rank 1"),
        (goal("send 9b to 1", ""), "t:2: rank 0, node 1: no receive of rank 1 takes this message; found send of 9"),
        (goal("send 9b to 1", "recv 8b from 0"), "t:3: rank 1, node 1: the message of rank 0 is longer than the rec"),
        (goal("a: calc 1 b: calc 2 a requires b b requires a", ""), "t:2: rank 0, node 1 (a): never starts or never"),
        (
            JobTrace("t", ((call("all_reduce", 3, bytes=8),), ())),
            "t: rank 0, node 3 (n3): a collective that rank 1 never calls; found 0 calls of rank 1; allowed: 1 calls",
        ),
        (
            JobTrace("t", ((call("all_reduce", bytes=8),), (call("all_reduce", 4, bytes=12),))),
            "t: rank 1, node 4 (n4): call 1 of its group differs from that of rank 0; found all_reduce of 12 bytes",
        ),
        (
            JobTrace("t", ((call("reduce", bytes=8, group=(0, 1), root=2),),) * 2),
            "t: rank 0, node 0 (n0): the root is not in the group; found 2; allowed: [0, 1]",
        ),
        (
            JobTrace("t", ((call("barrier", after=(1,)), call("barrier")), (call("barrier", after=()), CALLED_LAST))),
            "t: rank 0, node 0 (n0): never starts or never ends; found a circle of dependencies",
        ),
    ],
)  # fmt: skip
def test_what_never_ends_is_refused(trace: JobTrace, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        match(trace)
    assert str(error.value).startswith(message)


def turns(*ranks: tuple[TraceNode, ...]) -> list[int]:
    """By the order of the file on rank 0."""
    return [each.turn for each in match(JobTrace("t", ranks)) if each.kind != MESSAGE]


def test_collectives_take_turns_in_the_order_of_the_file() -> None:
    calls = tuple(call("all_reduce", number, bytes=8) for number in range(3))
    assert turns(calls, calls) == [0, 1, 2]


def test_a_collective_waits_its_turn_for_what_it_needs() -> None:
    """On rank 1 the call that the file has first needs the other one."""
    ranks = (
        (call("all_reduce", 0, bytes=8), call("barrier", 1)),
        (call("all_reduce", 0, bytes=8, after=(1,)), call("barrier", 1)),
    )
    assert turns(*ranks) == [1, 0]


def test_turns_follow_the_end_of_computing() -> None:
    """Computing of one lane follows one another."""
    slow, quick = call("compute", 0, compute_ns=900, lane=0), call("compute", 1, compute_ns=300)
    late, last = call("compute", 2, compute_ns=1, lane=0), call("compute", 3, compute_ns=950)
    calls = (
        call("all_reduce", 4, bytes=8, after=(3,)), call("reduce", 5, bytes=8, after=(2,)),
        call("barrier", 6, after=(1,)), call("all_gather", 7, bytes=8, after_start=(2,)),
    )  # fmt: skip
    found = match(JobTrace("t", ((slow, quick, late, last, *calls),) * 2))
    assert {each.kind: each.turn for each in found} == {"barrier": 0, "all_gather": 1, "reduce": 2, "all_reduce": 3}


def test_messages_have_no_turn() -> None:
    (found,) = match(goal("send 9b to 1", "recv 9b from 0"))
    assert found.turn == -1

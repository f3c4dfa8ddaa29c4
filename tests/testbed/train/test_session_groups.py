"""Groups and mail within a training: who is awaited, who is named, what must be equal."""

import pytest

from testbed.train.session import Agree, TrainingSession
from tests.testbed.train.sessions import SECOND, TIMEOUT, actions, barrier, failure, joined
from workloads.ranks.wire import Agreed, Destroy, Group, Post


def mail(number, what, peer, *, tag=0, elements=2, dtype="int64", group="", timeout_s=0.0):
    return Post(number, what, dtype, "", elements, False, 0, group, peer=peer, tag=tag, timeout_s=timeout_s)


def in_group(*ranks, size=3, name="1", made="run."):
    """A session in which these ranks have made a group, and its name."""
    session = TrainingSession(size, TIMEOUT, made)
    for rank in range(size):
        session.join(rank, 0)
    for rank in ranks:
        session.make(rank, Group(0, name, ranks, 0.0), 0)
    (found,) = {action.agreed.group for action in actions(session)}
    return session, found


def test_a_group_is_made_when_all_its_ranks_make_it_and_its_name_is_never_used_again():
    session = joined(3)
    session.make(2, Group(0, "1", (0, 2), 0.0), 0)
    assert actions(session) == []
    session.make(0, Group(0, "1", (0, 2), 0.0), 0)
    first = actions(session)
    assert [(action.rank, action.agreed.number) for action in first] == [(0, 0), (2, 0)]
    (name,) = {action.agreed.group for action in first}
    session.destroy(0, Destroy(1, name))
    session.destroy(2, Destroy(1, name))
    assert [action.rank for action in actions(session)] == [0, 2]
    for rank in (0, 2):
        session.make(rank, Group(2, "1", (0, 2), 0.0), 0)
    assert name not in {action.agreed.group for action in actions(session)}


def test_another_training_has_other_names():
    assert in_group(0, 1)[1] != in_group(0, 1, made="later.")[1]


def test_a_rank_that_does_not_make_the_group_is_named():
    session = joined(3)
    session.make(0, Group(0, "1", (0, 1, 2), 5.0), SECOND)
    assert session.get_timer() == 6 * SECOND
    session.handle_timer(6 * SECOND)
    assert failure(session) == (
        "within 5 s (the time limit of the process group or the call) ranks 1, 2 did not make process group '1' of "
        "ranks 0, 1, 2, for which rank 0 waits; the last of rank 1: 0 collectives"
    )


def test_ranks_of_a_group_agree_without_the_others_and_know_the_same_turn():
    session, name = in_group(0, 2)
    for rank in (0, 2):
        session.post(rank, Post(1, "barrier", "", "", -1, False, 0, name), 0)
    assert actions(session) == [Agree(rank, Agreed(1, name, 1, -1)) for rank in (0, 2)]
    session.post(2, Post(2, "barrier", "", "", -1, False, 0, name), 0)
    session.handle_timer(TIMEOUT)
    assert "rank 0 did not post collective 1, barrier in the group of ranks 0, 2, for which rank 2" in failure(session)


def test_what_a_rank_posts_in_a_group_that_another_one_destroyed_is_missed_at_once():
    session, name = in_group(0, 2)
    session.destroy(0, Destroy(1, name))
    session.post(2, Post(1, "barrier", "", "", -1, False, 0, name), 0)
    assert failure(session) == (
        "rank 0 destroyed its process group after 0 collectives, and rank 2 waits for it in collective 0, barrier in "
        "the group of ranks 0, 2"
    )


@pytest.mark.parametrize("first", ["leave", "destroy"])
def test_a_rank_that_left_is_not_awaited_to_destroy_its_group(first):
    session, name = in_group(0, 2)
    for what in (first, "leave" if first == "destroy" else "destroy"):
        assert actions(session) == []
        if what == "leave":
            session.leave(2, "", 0)
        else:
            session.destroy(0, Destroy(1, name))
    assert [action.rank for action in actions(session)] == [0]


@pytest.mark.parametrize("message", ["stranger", "nothing", "end"])
def test_a_rank_that_is_in_no_such_group_is_refused(message):
    session, name = in_group(0, 2)
    match message:
        case "stranger":
            session.post(1, Post(0, "barrier", "", "", -1, False, 0, name), 0)
        case "nothing":
            session.make(1, Group(0, "2", (0, 2), 0.0), 0)
        case "end":
            session.destroy(1, Destroy(0, ""))
    assert failure(session).startswith("rank 1 posted ")


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        ({"root": 1}, "rank 0 posted broadcast of 3 int64 from rank 0; rank 1 posted broadcast of 3 int64 from rank 1"),
        ({"shape": "3 x 1"}, "rank 0 posted broadcast of 3 int64 from rank 0; rank 1 posted broadcast of 3 x 1 int64"),
    ],
)
def test_roots_and_shapes_are_compared(theirs, told):
    session = joined()
    for rank, more in enumerate(({}, theirs)):
        session.post(rank, Post(0, "broadcast", "int64", "", 3, False, 0, **{"root": 0, "shape": "3", **more}), 0)
    assert failure(session).startswith(f"collective 0 differs: {told}")


@pytest.mark.parametrize("fits", [True, False])
def test_what_a_rank_gives_is_what_the_other_takes(fits):
    session = joined()
    session.post(0, Post(0, "all_to_all", "int64", "", -1, False, 0, gives=(1, 2), takes=(1, 4)), 0)
    session.post(1, Post(0, "all_to_all", "int64", "", -1, False, 0, gives=(4 if fits else 3, 0), takes=(2, 0)), 0)
    if fits:
        assert len(actions(session)) == 2
    else:
        assert failure(session) == (
            "collective 0 differs: rank 0 posted all_to_all of int64, [1, 2] elements out and [1, 4] in; rank 1 posted "
            "all_to_all of int64, [3, 0] elements out and [2, 0] in"
        )


def test_mail_is_matched_by_ranks_and_tag_in_order():
    session = joined(3)
    session.post(0, mail(0, "recv", 1, tag=5), 0)
    session.post(1, mail(0, "send", 0, tag=4), 0)
    session.post(2, mail(0, "send", 0, tag=5), 0)
    assert actions(session) == []
    session.post(1, mail(1, "send", 0, tag=5), 0)
    assert [(action.rank, action.agreed.number, action.agreed.peer) for action in actions(session)] == [
        (1, 1, 1), (0, 0, 1),
    ]  # fmt: skip
    session.post(0, mail(1, "recv", -1, tag=5), 0)
    assert {(action.rank, action.agreed.peer) for action in actions(session)} == {(2, 2), (0, 2)}
    assert session.over_store == {"send": 2}


def test_mail_that_differs_names_both():
    session = joined()
    session.post(0, mail(0, "send", 1), 0)
    session.post(1, mail(0, "recv", 0, elements=3), 0)
    assert failure(session) == (
        "a send and its recv differ: rank 0 posted send of 2 int64 to rank 1; rank 1 posted recv of 3 int64 from rank 0"
    )


@pytest.mark.parametrize(
    ("what", "peer", "told"),
    [
        ("recv", 1, "rank 1 did not post a send for the recv of 2 int64 from rank 1, for which rank 0 waits"),
        ("send", 1, "rank 1 did not post a recv for the send of 2 int64 to rank 1, for which rank 0 waits"),
        ("recv", -1, "no rank posted a send for the recv of 2 int64 from any rank, for which rank 0 waits"),
    ],
)
def test_mail_that_nothing_answers_is_missed(what, peer, told):
    late, gone = joined(), joined()
    late.post(0, mail(0, what, peer, timeout_s=2.0), SECOND)
    late.handle_timer(3 * SECOND - 1)
    assert actions(late) == []
    late.handle_timer(3 * SECOND)
    assert failure(late) == f"within 2 s (the time limit of the process group or the call) {told}"
    gone.post(0, mail(0, what, peer), 0)
    gone.leave(1, "", 0)
    assert failure(gone).startswith(f"rank 1 ended after 0 collectives, and rank 0 waits for it in {what} of 2 int64")


def test_all_that_wait_are_named_when_the_time_of_one_is_up():
    session = joined(3)
    session.post(0, mail(0, "recv", 1), 0)
    session.post(2, barrier(0), SECOND)
    session.handle_timer(TIMEOUT)
    reason = failure(session)
    assert "for which rank 0 waits; ranks 0, 1 did not post collective 0, barrier, for which rank 2 waits" in reason


def test_the_time_limit_of_a_post_is_never_longer_than_that_of_the_network():
    session = joined()
    session.post(0, Post(0, "barrier", "", "", -1, False, 0, timeout_s=1800.0), 0)
    assert session.get_timer() == TIMEOUT
    session.handle_timer(TIMEOUT)
    assert failure(session).startswith("within 30 s rank 1")

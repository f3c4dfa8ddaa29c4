"""The order of collectives, as rules that hold for every order in which ranks speak."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from testbed.train.session import Agree, Answer, Carry, Fail, Session
from testbed.train.words import describe
from testbed.train.world import progress_of
from workloads.ranks.wire import Agreed, Destroy, Group, Post

SECOND = 1_000_000_000
TIMEOUT = 30 * SECOND


def post(number, elements=100, *, what="all_reduce", dtype="float32", op="sum", in_network=True):
    return Post(number, what, dtype, op, elements, in_network, 0)


def barrier(number):
    return Post(number, "barrier", "", "", -1, False, 0)


def actions(session):
    found = []
    while (action := session.next_action()) is not None:
        found.append(action)
    return found


def joined(size=2):
    session = Session(size, TIMEOUT)
    for rank in range(size):
        assert session.join(rank, 0) is None
    return session


def failure(session):
    """The one reason that everybody hears."""
    (fail,) = [action for action in actions(session) if isinstance(action, Fail)]
    assert session.failure == fail.reason
    assert session.is_over
    assert session.get_timer() is None
    return fail.reason


class Training(RuleBasedStateMachine):
    """Ranks that post the same program in any interleaving, and a network that answers when it likes."""

    @initialize(size=st.integers(1, 4), program=st.lists(st.booleans(), max_size=12))
    def begin(self, size, program):
        self.session, self.size, self.program = Session(size, TIMEOUT), size, program
        self.posted, self.carried, self.answered, self.now = [0] * size, [], [], 0
        self.agreed = [[] for _ in range(size)]
        self.outside = set(range(size))

    @precondition(lambda self: self.outside)
    @rule(data=st.data())
    def join(self, data):
        rank = data.draw(st.sampled_from(sorted(self.outside)))
        self.outside.discard(rank)
        assert self.session.join(rank, self.now) is None

    @rule(data=st.data())
    def post(self, data):
        able = [r for r in range(self.size) if r not in self.outside and self.posted[r] < len(self.program)]
        if able:
            rank = data.draw(st.sampled_from(able))
            number = self.posted[rank]
            self.session.post(rank, post(number) if self.program[number] else barrier(number), self.now)
            self.posted[rank] += 1

    @precondition(lambda self: len(self.answered) < len(self.carried))
    @rule()
    def answer(self):
        self.session.done(self.carried[len(self.answered)], 5, self.now)

    @rule(later=st.integers(0, TIMEOUT // 4))
    def wait(self, later):
        """Never so long that a rank counts as gone: that has tests of its own."""
        self.now += later
        due = self.session.get_timer()
        if due is not None:
            self.now = min(self.now, due - 1)
            self.session.handle_timer(self.now)

    @invariant()
    def what_all_posted_is_carried_once_and_in_order(self):
        if not hasattr(self, "session"):
            return
        for action in actions(self.session):
            match action:
                case Carry(number, posts):
                    assert [p.number for p in posts] == [number] * self.size
                    self.carried.append(number)
                case Answer(numbers, _):
                    assert len(set(numbers)) == 1
                    self.answered.append(numbers[0])
                case Agree(rank, agreed):
                    self.agreed[rank].append(agreed.number)
                case _:
                    raise AssertionError(action)
        common = min(self.posted)
        assert self.carried == [n for n in range(common) if self.program[n]]
        assert self.answered == self.carried[: len(self.answered)]
        assert self.session.over_store.total() == common - len(self.carried)
        assert self.agreed == [[n for n in range(common) if not self.program[n]]] * self.size

    @invariant()
    def whoever_waits_waits_for_a_limited_time(self):
        if hasattr(self, "session"):
            someone_ahead = max(self.posted) > min(self.posted)
            some_absent = 0 < len(self.outside) < self.size
            waits = someone_ahead or some_absent or len(self.answered) < len(self.carried)
            assert (self.session.get_timer() is not None) == waits


TestTraining = Training.TestCase
TestTraining.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        (post(0, 200), "rank 0 posted all_reduce of 100 float32 (sum); rank 1 posted all_reduce of 200 float32 (sum)"),
        (
            post(0, dtype="float64", in_network=False),
            "rank 0 posted all_reduce of 100 float32 (sum); rank 1 posted all_reduce of 100 float64 (sum)",
        ),
        (post(0, op="avg"), ("rank 0 posted all_reduce of 100 float32 (sum); rank 1 posted all_reduce of 100 float32 "
                            "(avg)")),
        (barrier(0), "rank 0 posted all_reduce of 100 float32 (sum); rank 1 posted barrier"),
    ],
)  # fmt: skip
def test_ranks_that_post_different_collectives_are_both_named(theirs, told):
    session = joined()
    session.post(0, post(0), 0)
    session.post(1, theirs, 0)
    assert failure(session) == f"collective 0 differs: {told}"


def test_progress_names_the_ranks_that_still_run_after_a_failure():
    session = Session(3, 10**9)
    for rank in range(3):
        session.join(rank, 0)
    session.fail("the switch died")
    session.leave(2, "", 0)
    assert progress_of(session, 3) == "3 all-reduces so far; ranks 0, 1 still run"


def test_progress_says_what_the_training_waits_for():
    session = Session(2, 10**9)
    assert progress_of(session, 0).startswith("0 of 2 ranks joined; a rank joins when")
    session.join(1, 0)
    assert progress_of(session, 0).startswith("1 of 2 ranks joined; a rank joins when")
    session.join(0, 0)
    assert progress_of(session, 0) == "0 all-reduces so far"
    session.leave(0, "", 0)
    assert progress_of(session, 3) == "3 all-reduces so far; rank 1 still runs"
    assert progress_of(Session(2, 10**9), 7) == "7 all-reduces so far", "the ranks of the next training"


def test_a_rank_that_is_silent_while_others_wait_is_named_when_the_time_is_up():
    session = joined(3)
    session.post(0, post(0), SECOND)
    session.post(2, post(0), 2 * SECOND)
    assert session.get_timer() == SECOND + TIMEOUT
    session.handle_timer(SECOND + TIMEOUT - 1)
    assert actions(session) == []
    session.handle_timer(SECOND + TIMEOUT)
    assert failure(session) == (
        "within 30 s rank 1 did not post collective 0, all_reduce of 100 float32 (sum), for which ranks 0, 2 wait; "
        "the last of rank 1: 0 collectives"
    )


def test_a_rank_that_never_joins_is_named():
    session = Session(3, TIMEOUT)
    session.join(1, SECOND)
    session.handle_timer(SECOND + TIMEOUT)
    assert failure(session) == "within 30 s ranks 0, 2 did not join; rank 1 did"


def test_a_network_that_brings_nothing_fails_the_training():
    session = joined()
    for rank in range(2):
        session.post(rank, post(0), rank * SECOND)
    (carry,) = actions(session)
    assert isinstance(carry, Carry)
    session.handle_timer(SECOND + TIMEOUT)
    assert failure(session) == "within 30 s the network did not bring the sum of collective 0"


def test_who_waits_for_a_rank_that_has_left_hears_it_at_once():
    session = joined()
    session.post(0, barrier(0), 0)
    session.post(1, barrier(0), 0)
    session.leave(1, "", 0)
    assert [action.rank for action in actions(session) if isinstance(action, Agree)] == [0, 1]
    session.post(0, post(1), 0)
    assert failure(session) == (
        "rank 1 ended after 1 collective, and rank 0 waits for it in collective 1, all_reduce of 100 float32 (sum)"
    )


def test_a_rank_that_leaves_while_others_wait_for_it_is_missed_at_once():
    session = joined(3)
    session.post(0, post(0), 0)
    session.post(2, post(0), 0)
    session.leave(1, "", 0)
    assert failure(session) == (
        "rank 1 ended after 0 collectives, and ranks 0, 2 wait for it in collective 0, all_reduce of 100 float32 (sum)"
    )


def test_a_rank_may_leave_when_all_have_what_they_need():
    session = joined()
    for rank in range(2):
        session.post(rank, post(0), 0)
    session.done(0, 5, 0)
    session.leave(1, "", 0)
    session.leave(0, "", 0)
    assert actions(session) == [Carry(0, (post(0), post(0))), Answer((0, 0), 5)]
    assert session.is_over
    assert session.failure is None


def test_the_error_that_ended_a_rank_reaches_the_others():
    session = joined()
    session.leave(1, "ZeroDivisionError: division by zero", 0)
    assert failure(session) == "rank 1 ended: ZeroDivisionError: division by zero"


def test_only_the_first_reason_counts():
    session = joined()
    session.fail("the switch died")
    session.leave(1, "NetworkFailed", 0)
    session.post(0, post(0), 0)
    session.done(0, 1, 0)
    assert failure(session) == "the switch died"


@pytest.mark.parametrize(
    ("rank", "told"),
    [
        (2, "there is no rank 2: the scenario has 2 workers, ranks 0 to 1"),
        (-1, "there is no rank -1: the scenario has 2 workers, ranks 0 to 1"),
        (0, "rank 0 is there already: one training at a time, and one process for each rank"),
    ],
)
def test_who_may_not_join_is_told_why(rank, told):
    assert joined().join(rank, 0) == told


def test_nobody_joins_a_training_that_failed():
    session = Session(2, TIMEOUT)
    session.fail("the link is dead")
    assert session.join(0, 0) == "the link is dead"


def test_numbers_out_of_order_are_no_collectives():
    session = joined()
    session.post(0, post(1), 0)
    assert failure(session) == "rank 0 posted number 1 where number 0 was expected"


@given(st.integers(-1, 5), st.sampled_from(["", "float32"]), st.sampled_from(["", "sum"]))
def test_a_description_is_one_line(elements, dtype, op):
    text = describe(post(0, elements, dtype=dtype, op=op))
    assert text.startswith("all_reduce")
    assert "-1" not in text


def test_the_time_that_a_network_takes_to_come_up_is_not_its_delay():
    session = joined()
    session.await_network()
    for rank in range(2):
        session.post(rank, post(0), 0)
    assert session.get_timer() is None
    session.handle_timer(10 * TIMEOUT)
    session.network_came_up(10 * TIMEOUT)
    assert session.get_timer() == 11 * TIMEOUT
    session.handle_timer(11 * TIMEOUT - 1)
    assert (session.failure, session.network_is_late) == (None, False)
    session.handle_timer(11 * TIMEOUT)
    assert session.network_is_late
    assert session.failure == "within 30 s the network did not bring the sum of collective 0"


def test_a_rank_that_is_missed_is_no_fault_of_the_network():
    session = joined()
    session.post(0, post(0), 0)
    session.handle_timer(TIMEOUT)
    assert session.failure is not None
    assert not session.network_is_late


def mail(number, what, peer, *, tag=0, elements=2, dtype="int64", group="", timeout_s=0.0):
    return Post(number, what, dtype, "", elements, False, 0, group, peer=peer, tag=tag, timeout_s=timeout_s)


def in_group(*ranks, size=3, name="1", made="run."):
    """A session in which these ranks have made a group, and its name."""
    session = Session(size, TIMEOUT, made)
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

"""The order of collectives, as rules that hold for every order in which ranks speak."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from testbed.train.session import Agree, Carry, SumAnswer, TrainingSession
from testbed.train.words import describe
from testbed.train.world import progress_of
from tests.testbed.train.sessions import SECOND, TIMEOUT, actions, barrier, failure, joined, post


class Training(RuleBasedStateMachine):
    """Ranks that post the same program in any interleaving, and a network that answers when it likes."""

    @initialize(size=st.integers(1, 4), program=st.lists(st.booleans(), max_size=12))
    def begin(self, size, program):
        self.session, self.size, self.program = TrainingSession(size, TIMEOUT), size, program
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
                case SumAnswer(numbers, _):
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
    session = TrainingSession(3, 10**9)
    for rank in range(3):
        session.join(rank, 0)
    session.fail("the switch died")
    session.leave(2, "", 0)
    assert progress_of(session, 3) == "3 all-reduces so far; ranks 0, 1 still run"
    assert progress_of(session, 3, 1) == "3 all-reduces and 1 other collective so far; ranks 0, 1 still run"


def test_progress_says_what_the_training_waits_for():
    session = TrainingSession(2, 10**9)
    assert progress_of(session, 0).startswith("0 of 2 ranks joined; a rank joins when")
    session.join(1, 0)
    assert progress_of(session, 0).startswith("1 of 2 ranks joined; a rank joins when")
    session.join(0, 0)
    assert progress_of(session, 0) == "0 all-reduces so far"
    session.leave(0, "", 0)
    assert progress_of(session, 3) == "3 all-reduces so far; rank 1 still runs"
    assert progress_of(TrainingSession(2, 10**9), 7) == "7 all-reduces so far", "the ranks of the next training"


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
    session = TrainingSession(3, TIMEOUT)
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
    assert actions(session) == [Carry(0, (post(0), post(0))), SumAnswer((0, 0), 5)]
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
    session = TrainingSession(2, TIMEOUT)
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

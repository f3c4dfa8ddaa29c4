"""What a rank's callbacks raise: it fails their own collective, and nothing else waits for ever."""

import threading

import numpy as np
import pytest

from tests.testbed.train.fabric import SIZE, Fabric
from workloads.ranks.client import NetworkFailed


@pytest.fixture
def fabric(tmp_path):
    made = Fabric(tmp_path)
    yield made
    made.close()


class Answer:
    """The callbacks of one collective, of which some raise, and what came back."""

    def __init__(self, raising=()):
        self._raising, self.over, self.total, self.problems = raising, threading.Event(), None, []

    def fill(self, memory):
        self._raise("fill")
        np.frombuffer(memory, "<f4")[:] = 1

    def take(self, memory, network_ns):
        self._raise("take")
        self.total = float(np.frombuffer(memory, "<f4")[0])
        self.over.set()

    def agreed(self, agreement):
        self._raise("agreed")
        self.over.set()

    def refuse(self, reason):
        self.problems.append(reason)
        self.over.set()
        self._raise("refuse")

    def _raise(self, what):
        if what in self._raising:
            raise ZeroDivisionError(f"a mistake in {what}")


def sums(clients, *raising):
    """An all-reduce in which callbacks of rank 0 raise."""
    answers = [Answer(raising if rank == 0 else ()) for rank in range(SIZE)]
    for client, answer in zip(clients, answers, strict=True):
        client.post_sum(answer.fill, 100, "sum", answer.take, answer.refuse)
    return answers


def barriers(clients, *raising):
    answers = [Answer(raising if rank == 0 else ()) for rank in range(SIZE)]
    for client, answer in zip(clients, answers, strict=True):
        client.announce("barrier", agreed=answer.agreed, refuse=answer.refuse)
    return answers


def all_over(answers):
    return all(answer.over.wait(20) for answer in answers)


@pytest.mark.parametrize(("post", "what"), [(sums, "take"), (barriers, "agreed")])
def test_a_callback_that_raises_fails_its_own_collective_with_the_reason(fabric, post, what):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    answers = post(clients, what)
    assert all_over(answers)
    told = f"rank 0 could not use what came back: ZeroDivisionError: a mistake in {what}"
    assert [answer.problems for answer in answers] == [[told], [], [], []]
    after = sums(clients)
    assert all_over(after)
    assert [answer.total for answer in after] == [SIZE] * SIZE
    for client in clients:
        client.leave()


def test_a_gradient_that_cannot_be_written_was_never_posted(fabric):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    room = clients[0]._room
    answer = Answer(["fill"])
    with pytest.raises(ZeroDivisionError, match="a mistake in fill"):
        clients[0].post_sum(answer.fill, 100, "sum", answer.take, answer.refuse)
    assert room.is_empty
    assert all_over(sums(clients))
    for client in clients:
        client.leave()


def test_where_even_the_refusal_raises_everything_that_waits_is_refused(fabric):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    behind = Answer()
    first = sums(clients, "take", "refuse")
    clients[0].announce("barrier", agreed=behind.agreed, refuse=behind.refuse)
    assert behind.over.wait(20)
    assert behind.problems == [
        "the network went away: the reader of rank 0 ended: ZeroDivisionError: a mistake in refuse"
    ]
    with pytest.raises(NetworkFailed, match="the reader of rank 0 ended"):
        clients[0].announce("barrier")
    assert all_over(first)


def test_a_refusal_that_raises_keeps_no_other_from_being_refused(fabric):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    answers = [Answer(["refuse"]), Answer()]
    for answer in answers:
        clients[0].announce("barrier", agreed=answer.agreed, refuse=answer.refuse)
    fabric.server.fail("the switch died")
    assert all_over(answers)
    assert [answer.problems for answer in answers] == [["the switch died"]] * 2


def test_a_rank_lingers_until_the_others_have_left(fabric):
    clients = [fabric.rank(rank) for rank in range(SIZE)]
    leaving = threading.Thread(target=clients[0].leave, kwargs={"linger": True})
    leaving.start()
    for client in clients[1:-1]:
        client.leave()
    leaving.join(0.3)
    assert leaving.is_alive()
    clients[-1].leave()
    leaving.join(20)
    assert not leaving.is_alive()

import hashlib
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fake_fabric import RECEIVE_QPN, SEND_QPN, FakeFabric, FakeVerbs, worker_config
from workloads.collectives import base
from workloads.collectives.ina_header import INA_HEADER_BYTES, InaHeader
from workloads.collectives.lengths import cut_gradient, netreduce_packets
from workloads.collectives.netreduce import NetReduceCollective
from workloads.config import ArithmeticSpec
from workloads.events import CollectiveCompleted, MessageAcked, MessagePosted, MessageReceived
from workloads.rc import SUCCESS, ReceiveCompleted, SendCompleted

LATER = 10**9
"""when every digest is due"""

MTU, L = 256, 2
FULL = (MTU * L - INA_HEADER_BYTES) // 4
"""elements of a full message"""


class Rank:
    """Rank 1 of 3, on an endpoint that only notes; the test plays the switch."""

    def __init__(self, elements=5 * FULL + 3, iterations=1, in_place=False, **collective):
        plain = worker_config(1, 3, path_mtu=MTU, **{"window_messages": 2, **collective})
        self.config = replace(plain, workload=replace(plain.workload, in_place=in_place))
        self.verbs = FakeVerbs()
        self.machine = NetReduceCollective(self.config, self.verbs, elements, iterations)
        self.gradient = np.arange(elements, dtype=np.float32)
        self.result = np.zeros(elements, np.float32)
        self.machine.open(0)
        self.acks = self.results = 0
        self.begin(0)

    def begin(self, iteration):
        self.machine.start(iteration, self.gradient, self.result, 0)

    @property
    def posted(self):
        return len(self.verbs.sent)

    def ack(self):
        self.machine.on_sent(SendCompleted(SEND_QPN, self.acks, SUCCESS), 0)
        self.acks += 1

    def deliver(self, *, imm=None, length=None, rank=0, message=None, ring=7, garbage=b""):
        m = self.results
        data = self.verbs.images[m]
        header = InaHeader.decode(data)
        header = InaHeader(ring, rank, 3, m if message is None else message, header.msg_len_pkts).encode()
        slot = self.machine._slots.view(m)
        slot[: len(data)] = (garbage or header) + data[INA_HEADER_BYTES:]
        self.results += 1
        completion = ReceiveCompleted(RECEIVE_QPN, m, m if imm is None else imm, length or len(data))
        self.machine.on_received(completion, 0)

    def events(self, kind=object):
        found = []
        while (event := self.machine.next_event()) is not None:
            found.append(event)
        return [event for event in found if isinstance(event, kind)]


def test_nothing_follows_the_hello_until_its_result_is_back():
    rank = Rank()
    assert rank.verbs.images == [InaHeader(7, 1, 3, 0, 1).encode()]
    rank.ack()
    assert rank.posted == 1
    rank.deliver()
    assert rank.posted == 3


def test_without_hello_the_first_window_goes_at_once():
    rank = Rank(hello=False)
    assert rank.posted == 2
    assert InaHeader.decode(rank.verbs.images[0]).msg_len_pkts == L


@pytest.mark.parametrize(
    ("credit", "after_results", "after_acks"), [("both", 2, 2), ("received", 4, 2), ("acked", 2, 4)]
)
def test_credit_counts_results_or_acknowledgements_or_the_smaller(credit, after_results, after_acks):
    rank = Rank(hello=False, credit=credit)
    rank.deliver()
    rank.deliver()
    assert rank.posted == after_results
    rank = Rank(hello=False, credit=credit)
    rank.ack()
    rank.ack()
    assert rank.posted == after_acks


def test_a_full_send_queue_stops_what_credit_would_allow():
    rank = Rank(elements=20 * FULL, hello=False, credit="received")
    for _ in range(4):
        rank.deliver()
    assert rank.posted == 4
    rank.ack()
    assert rank.posted == 5


def test_the_receive_of_a_later_message_is_posted_before_a_message_is_sent():
    rank = Rank(elements=20 * FULL)
    while rank.posted < 21 or rank.results < rank.posted:
        rank.deliver()
        rank.ack()
    for message, posted in enumerate(rank.verbs.receives_at_send):
        assert posted >= message + 2 + 1, f"message {message} left before the receive of message {message + 2}"


def test_header_and_place_of_every_message():
    rank = Rank(elements=5 * FULL + 3)
    while rank.results < 7:
        rank.deliver()
        rank.ack()
    assert rank.posted == 7
    headers = [InaHeader.decode(image) for image in rank.verbs.images]
    assert [header.msg_id for header in headers] == list(range(7))
    assert [header.msg_len_pkts for header in headers] == [1, 2, 2, 2, 2, 2, 1]
    assert [header.end for header in headers] == [False] * 6 + [True]
    assert all(header.agg and header.rank == 1 and header.size == 3 and header.ring_id == 7 for header in headers)
    assert [request.imm for request in rank.verbs.sent] == list(range(7))
    assert [request.remote_va for request in rank.verbs.sent] == [4096 + m % 4 * L * MTU for m in range(7)]
    assert b"".join(image[INA_HEADER_BYTES:] for image in rank.verbs.images) == rank.gradient.tobytes()


def test_the_gradient_is_not_copied():
    rank = Rank(hello=False)
    header, data = rank.verbs.sent[0].segments
    assert np.shares_memory(np.frombuffer(data, np.uint8), rank.gradient)
    assert len(header) == INA_HEADER_BYTES


def test_send_variant_posts_buffers_and_no_address():
    rank = Rank(verb="send")
    assert [request.remote_va for request in rank.verbs.sent] == [None]
    assert not rank.verbs.memory
    assert [len(request.memory) for request in rank.verbs.receives] == [L * MTU] * 4
    whole = np.frombuffer(rank.verbs.receives[0].memory.obj, np.uint8)
    assert len(whole) == 4 * L * MTU


def test_results_are_copied_in_place_and_told():
    rank = Rank(elements=FULL + 1)
    for _ in range(3):
        rank.deliver()
        rank.ack()
    assert np.array_equal(rank.result, rank.gradient)
    assert not rank.machine.idle
    assert not rank.events(CollectiveCompleted)
    rank.machine.handle_timer(rank.machine.get_timer())
    assert rank.machine.idle
    events = rank.events()
    assert [type(event).__name__ for event in events] == ["CollectiveCompleted"]


def test_events_of_each_message():
    rank = Rank(elements=FULL + 1)
    for _ in range(3):
        rank.deliver()
        rank.ack()
    events = rank.events()
    assert [e.message for e in events if isinstance(e, MessageReceived)] == [0, 1, 2]
    assert [e.message for e in events if isinstance(e, MessageAcked)] == [0, 1, 2]
    assert [(e.message, e.received, e.acked) for e in events if isinstance(e, MessagePosted)] == [
        (0, 0, 0), (1, 1, 0), (2, 1, 1),
    ]  # fmt: skip


def test_not_idle_while_a_message_is_unacknowledged():
    rank = Rank(elements=FULL)
    rank.deliver()
    rank.ack()
    rank.deliver()
    rank.machine.handle_timer(LATER)
    assert rank.events(CollectiveCompleted)
    assert not rank.machine.idle
    rank.ack()
    assert rank.machine.idle


def test_message_numbers_go_on_and_there_is_one_hello():
    rank = Rank(elements=FULL + 1, iterations=2)
    for _ in range(3):
        rank.deliver()
        rank.ack()
    rank.machine.handle_timer(LATER)
    rank.begin(1)
    rank.deliver()
    headers = [InaHeader.decode(image) for image in rank.verbs.images]
    assert [header.msg_id for header in headers] == [0, 1, 2, 3, 4]
    assert [header.end for header in headers] == [False, False, True, False, True]
    assert [header.msg_len_pkts for header in headers] == [1, 2, 1, 2, 1]


@pytest.mark.parametrize(
    ("wrong", "detail"),
    [
        ({"imm": 5}, "message 1 came with immediate data 5"),
        ({"length": 100}, f"message 1 has 100 bytes, expected {MTU * L}"),
        ({"rank": 1}, "message 1 has (ring_id, msg_id, rank) (7, 1, 1), expected (7, 1, 0)"),
        ({"message": 2}, "message 1 has (ring_id, msg_id, rank) (7, 2, 0), expected (7, 1, 0)"),
        ({"ring": 8}, "message 1 has (ring_id, msg_id, rank) (8, 1, 0), expected (7, 1, 0)"),
        ({"garbage": bytes(16)}, "message 1 has no INA header of version 1: 0x00 0"),
    ],
)
def test_a_wrong_result_is_a_problem_and_never_counted(wrong, detail):
    rank = Rank()
    rank.deliver()
    rank.deliver(**wrong)
    assert rank.machine.problem == ("bad_result", detail)
    assert not rank.result.any()
    posted = rank.posted
    rank.ack()
    rank.ack()
    assert rank.posted == posted


def test_in_place_a_result_waits_for_the_acknowledgement_of_its_own_message():
    """A retransmission would otherwise carry the sum."""
    rank = Rank(hello=False, in_place=True)
    rank.deliver()
    assert not rank.result.any()
    assert rank.posted == 2
    rank.ack()
    assert rank.result[1] == rank.gradient[1]
    assert rank.posted == 3


def test_late_receives():
    rank = Rank(receive_late_ns=1000)
    assert not rank.verbs.receives
    assert rank.machine.get_timer() == 1000
    rank.machine.handle_timer(999)
    assert not rank.verbs.receives
    rank.machine.handle_timer(1000)
    assert [request.wr_id for request in rank.verbs.receives] == [0, 1, 2, 3]
    assert rank.machine.get_timer() is None


@given(st.integers(1, 5000), st.integers(1, 5), st.sampled_from([256, 512, 1024]))
def test_pieces_cover_the_gradient(elements, packets, mtu):
    pieces = cut_gradient(elements, packets, mtu)
    assert pieces[0].start == 0
    assert pieces[-1].stop == 4 * elements
    assert all(a.stop == b.start for a, b in pairwise(pieces))
    for piece in pieces:
        size = piece.stop - piece.start + INA_HEADER_BYTES
        assert piece.packets == -(-size // mtu) <= packets
    assert all(piece.packets == packets for piece in pieces[:-1])


def test_packets_of_a_job():
    config = worker_config(0, 4, message_packets=3).collective
    assert netreduce_packets(config, 3 * 64 - 4 + 1, 2, 256) == (1, 3, 1, 3, 1)


def ring_run(choose, size, kind, verb, window, hello, iterations, elements, credit="both"):
    """All ranks on the fake fabric, one move after the other as `choose` picks them; returns what each rank ended
    with."""
    spec = ArithmeticSpec()
    verbs = [FakeVerbs() for _ in range(size)]
    fabric = FakeFabric(verbs, spec if kind == "netreduce" else None)
    options = {
        "kind": kind,
        "verb": verb,
        "window_messages": window,
        "hello": hello,
        "message_packets": 1,
        "credit": credit,
    }
    for rank in range(size):
        config = worker_config(rank, size, path_mtu=256, **options)
        fabric.machines.append(NetReduceCollective(config, verbs[rank], elements, iterations))
        fabric.machines[-1].open(0)
    draw = np.random.default_rng(1)
    gradients = draw.standard_normal((iterations, size, elements)).astype(np.float32)
    results = np.zeros((size, elements), np.float32)
    done = [0] * size
    outcome = [[] for _ in range(size)]
    guard = 0
    while min(done) < iterations:
        guard += 1
        assert guard < 5000, "no end"
        moves = [("start", k) for k in range(size) if done[k] == len(outcome[k]) and done[k] < iterations
                 and fabric.machines[k].idle and started(fabric.machines[k]) == done[k]]  # fmt: skip
        moves += fabric.deliverable()
        moves += [("timer", k) for k in range(size) if fabric.machines[k].get_timer() is not None]
        assert moves, "a deadlock"
        what, k = choose(moves)
        machine = fabric.machines[k]
        if what == "start":
            machine.start(done[k], gradients[done[k]][k], results[k], 0)
        elif what == "timer":
            machine.handle_timer(LATER)
        else:
            fabric.move(what, k)
        for k, machine in enumerate(fabric.machines):
            assert machine.problem is None
            if machine.idle and started(machine) == done[k] + 1:
                outcome[k].append(results[k].copy())
                done[k] += 1
    return gradients, outcome


def started(machine):
    return machine._iteration + 1


@settings(max_examples=60, deadline=None)
@given(
    st.data(), st.integers(2, 4), st.sampled_from(["netreduce", "shift"]), st.sampled_from(["write", "send"]),
    st.integers(1, 3), st.booleans(), st.integers(1, 4),
)  # fmt: skip
def test_any_order_of_deliveries_and_acknowledgements(data, size, kind, verb, window, hello, iterations):
    elements = 2 * 60 + 7
    gradients, outcome = ring_run(drawn(data), size, kind, verb, window, hello, iterations, elements)
    check(gradients, outcome, kind)


def drawn(data):
    return lambda moves: moves[data.draw(st.integers(0, len(moves) - 1))] if len(moves) > 1 else moves[0]


def check(gradients, outcome, kind):
    for iteration, rows in enumerate(gradients):
        total = rows[0]
        for row in rows[1:]:
            total = total + row
        for rank, results in enumerate(outcome):
            expected = total if kind == "netreduce" else rows[rank - 1]
            assert results[iteration].tobytes() == expected.tobytes()


@pytest.mark.parametrize(("size", "credit"), [(4, "both"), (3, "acked")])
def test_through_a_plain_switch_a_predecessor_that_runs_ahead_overwrites_nothing(size, credit):
    """Rank 0 begins each iteration only when nothing else can move any more."""
    late = lambda moves: max(moves, key=lambda move: (move != ("start", 0), move))  # noqa: E731
    check(*ring_run(late, size, "shift", "write", 1, True, 3, 5 * 60, credit), "shift")


@pytest.mark.parametrize(("iterations", "before", "after"), [(2, [2, 1], [1]), (1, [], [4])])
def test_what_is_final_is_hashed_while_more_is_to_come(monkeypatch, iterations, before, after):
    """In a wake-up of its own. Of the last iteration nothing is: no peer waits for it, but many receive then."""
    hashed = []

    class Counting:
        def __init__(self):
            self.sha256 = hashlib.sha256()

        def update(self, data):
            hashed.append(len(data) / (4 * FULL))
            self.sha256.update(data)

        def hexdigest(self):
            return self.sha256.hexdigest()

    monkeypatch.setattr(base, "hashlib", SimpleNamespace(sha256=Counting))
    rank = Rank(elements=4 * FULL, iterations=iterations, hello=False, window_messages=4)
    rank.deliver()
    rank.deliver()
    assert hashed == [], "not before the ACKs of what came have left"
    rank.machine.handle_timer(0)
    rank.deliver()
    rank.machine.handle_timer(0)
    assert (hashed, rank.machine.get_timer()) == (before, None)
    rank.deliver()
    rank.machine.handle_timer(LATER)
    assert hashed == before + after
    (told,) = rank.events(CollectiveCompleted)
    assert told.sha256 == hashlib.sha256(rank.result.tobytes()).hexdigest()


def test_the_last_digest_is_taken_off_the_clock():
    """The event tells when the result was whole; the hash itself waits until peers have theirs. Of iterations before
    the last it does not wait: the next one begins after it."""
    for iterations, waits in ((1, True), (2, False)):
        rank = Rank(elements=FULL, iterations=iterations)
        rank.deliver()
        rank.ack()
        rank.deliver()
        rank.machine.handle_timer(1)
        assert bool(rank.events(CollectiveCompleted)) is not waits
        rank.machine.handle_timer(LATER)
        told = rank.events(CollectiveCompleted)
        assert [event.completed_ns for event in told] == ([0] if waits else [])

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fake_fabric import RECEIVE_QPN, SEND_QPN, FakeFabric, FakeVerbs, worker_config
from tests.support.references import ring_fold
from workloads.collectives.held import kept
from workloads.collectives.ring import RingCollective
from workloads.collectives.schedules import ring_packets, ring_schedule
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted, CollectiveStarted
from workloads.rc import SUCCESS, ReceiveCompleted, SendCompleted

LATER = 10**9
"""when every digest is due"""

MTU = 256


def ring_config(rank, size, **options):
    return worker_config(rank, size, path_mtu=MTU, **{"kind": "ring", **options})


@given(st.integers(2, 9), st.integers(1, 3000), st.integers(1, 40))
def test_every_rank_receives_what_its_predecessor_sends_and_sends_what_it_received(size, elements, packets):
    schedules = [
        ring_schedule(ring_config(rank, size, message_packets=packets).collective, rank, elements, MTU)
        for rank in range(size)
    ]
    bounds = np.cumsum([0] + [4 * len(part) for part in np.array_split(np.zeros(elements), size)])
    for rank, schedule in enumerate(schedules):
        for item in schedule:
            assert item.chunk == (rank - item.step) % size
            assert bounds[item.chunk] <= item.start < item.stop <= bounds[item.chunk + 1]
            assert item.packets == -(-(item.stop - item.start) // MTU) <= packets
        predecessor = schedules[rank - 1]
        received = [(item.step + 1, item.start, item.stop) for item in predecessor if item.step < 2 * size - 3]
        assert received == [(item.step, item.start, item.stop) for item in schedule if item.step]
    sent = sum(item.stop - item.start for schedule in schedules for item in schedule)
    assert sent == (2 * size - 2) * elements * 4


def test_a_chunk_is_cut_for_pipelining_but_not_into_crumbs():
    config = ring_config(0, 2, message_packets=170).collective
    large, small = (ring_schedule(config, 0, packets * MTU // 4 * 2, MTU) for packets in (4000, 40))
    assert [item.packets for item in large if item.step == 0] == [170] * 23 + [90]
    assert [item.packets for item in small if item.step == 0] == [16, 16, 8]


def test_packets_of_a_job():
    config = ring_config(0, 2).collective
    assert ring_packets(config, 2 * 64 + 64 * 3, 2, MTU) == (2, 1) * 4
    assert ring_packets(config, 1, 1, MTU) == (1,)


def test_saturating_sums_are_refused():
    from workloads.config import ArithmeticSpec

    with pytest.raises(ScenarioError, match=r"would saturate early; found int32sat; allowed: float32, int32$"):
        RingCollective(ring_config(0, 2, arithmetic=ArithmeticSpec("sum", "int32sat")), FakeVerbs(), 1, 1)


@pytest.mark.parametrize(("imm", "length"), [(1, 8), (0, 4)])
def test_a_message_that_is_not_the_expected_one_is_a_problem(imm, length):
    verbs = FakeVerbs()
    machine = RingCollective(ring_config(0, 2), verbs, 4, 1)
    machine.open(0)
    machine.start(0, np.ones(4, np.float32), np.zeros(4, np.float32), 0)
    machine.on_received(ReceiveCompleted(RECEIVE_QPN, 0, imm, length), 0)
    reason, detail = machine.problem
    assert reason == "bad_result"
    assert detail == f"message 0 came with immediate data {imm} and {length} bytes, expected 8"
    assert len(verbs.sent) == 1


def test_a_predecessor_that_runs_ahead_finds_no_receive_before_it_reaches_a_slot_in_use():
    verbs = FakeVerbs()
    machine = narrow(RingCollective, ring_config(0, 3, message_packets=1), verbs, 64 * 3 * 20, 1)
    machine.open(0)
    ((_, memory),) = verbs.memory.values()
    assert len(verbs.receives) < len(memory) // MTU


@pytest.mark.parametrize(("elements", "receives"), [(64 * 3, 8), (64 * 3 * 20, 160), (64 * 3 * 200, 512)])
def test_receives_are_posted_for_two_iterations_or_512_packets(elements, receives):
    """Three ranks, messages of one packet: four messages for each packet of a chunk."""
    verbs = FakeVerbs()
    RingCollective(ring_config(0, 3, message_packets=1), verbs, elements, 1).open(0)
    assert len(verbs.receives) == receives


def test_at_most_a_window_is_unacknowledged():
    verbs = FakeVerbs()
    machine = narrow(RingCollective, ring_config(0, 3, message_packets=1), verbs, 64 * 3 * 20, 1)
    machine.start(0, np.ones(64 * 60, np.float32), np.zeros(64 * 60, np.float32), 0)
    assert len(verbs.sent) == 2
    machine.on_sent(SendCompleted(SEND_QPN, 0, SUCCESS), 0)
    assert len(verbs.sent) == 3


KINDS = {"ring": "all_reduce", "ring_reduce_scatter": "reduce_scatter", "ring_all_gather": "all_gather"}


def held(kind, rank, gradients):
    """Bytes of what a rank holds in the end."""
    size = len(gradients)
    if kind == "ring":
        return ring_fold(gradients, "sum", "float32").tobytes()
    chunks = [np.array_split(gradient, size) for gradient in gradients]
    if kind == "ring_all_gather":
        return np.concatenate([chunks[owner][owner] for owner in range(size)]).tobytes()
    total = chunks[(rank + 1) % size][rank].copy()
    for step in range(2, size + 1):
        total = total + chunks[(rank + step) % size][rank]
    return total.tobytes()


@settings(max_examples=120, deadline=None)
@given(
    st.data(), st.sampled_from(sorted(KINDS)), st.integers(2, 4), st.sampled_from(["write", "send"]),
    st.integers(1, 300), st.integers(1, 3),
)  # fmt: skip
def test_any_order_of_deliveries_and_acknowledgements(data, kind, size, verb, elements, iterations):
    """The window is narrowed to two messages, so that slots are used again and again."""
    verbs = [FakeVerbs() for _ in range(size)]
    fabric = FakeFabric(verbs, None)
    for rank in range(size):
        part = kept(KINDS[kind], rank, size, elements, 0)
        config = ring_config(rank, size, kind=kind, verb=verb, message_packets=1, kept=part)
        fabric.machines.append(narrow(RingCollective, config, verbs[rank], elements, iterations))
        fabric.machines[-1].open(0)
    draw = np.random.default_rng(1)
    gradients = draw.standard_normal((iterations, size, elements)).astype(np.float32)
    results = np.zeros((size, elements), np.float32)
    begun, told = [0] * size, [0] * size
    for _ in range(20000):
        moves = [("start", k) for k, m in enumerate(fabric.machines) if m.idle and begun[k] < iterations]
        moves += fabric.deliverable()
        moves += [("timer", k) for k, m in enumerate(fabric.machines) if m.get_timer() is not None]
        if not moves:
            break
        what, k = moves[data.draw(st.integers(0, len(moves) - 1))] if len(moves) > 1 else moves[0]
        machine = fabric.machines[k]
        if what == "start":
            begun[k] += 1
            machine.start(begun[k] - 1, gradients[begun[k] - 1][k], results[k], 0)
        elif what == "timer":
            machine.handle_timer(LATER)
        else:
            fabric.move(what, k)
        assert machine.problem is None
        for other in range(size):
            while (event := fabric.machines[other].next_event()) is not None:
                if isinstance(event, CollectiveStarted):
                    assert event.iteration == begun[other] - 1
                if isinstance(event, CollectiveCompleted):
                    told[other] += 1
                    expected = held(kind, other, gradients[event.iteration])
                    assert (event.sha256, event.bytes) == (hashlib.sha256(expected).hexdigest(), len(expected))
    assert begun == told == [iterations] * size, "a deadlock"
    assert all(machine.idle for machine in fabric.machines)


def narrow(kind, *arguments):
    """A collective with the smallest window."""
    import workloads.collectives.ring as module

    before, module._WINDOW_PACKETS = module._WINDOW_PACKETS, 1
    try:
        return kind(*arguments)
    finally:
        module._WINDOW_PACKETS = before

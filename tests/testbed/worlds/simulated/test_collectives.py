"""All-reduce end to end in virtual time: real endpoints, the real switch program, lossy links; digests equal
NumPy's."""

import pytest

from switch_nodes.events import PacketIgnored, SlotsAtEnd
from testbed.faults.events import FaultStruck
from testbed.faults.model import Burst, Corrupt, Drop, Duplicate, Loss, Match, Reorder
from testbed.history.events import TimeLimitReached
from testbed.scenario.keys.job import Straggler
from testbed.worlds.simulated import simulate
from tests.support.simulation import digests, expected_digests, of, rack_links, rack_plan
from topologies import Direction
from workloads.events import (
    CollectiveCompleted,
    FrameRejected,
    MessageAcked,
    NakSent,
    QpFailed,
    Retransmission,
    RnrNakSent,
    WorkerFailed,
)

MS = 1_000_000
QUICK = {"timeout_code": 12}


def check(plan, *, struck: tuple[str, ...] = ()):
    """Every host holds the right result, no slot is left open, no credit was overrun, and the faults really struck."""
    records = simulate(plan)
    assert not of(records, WorkerFailed, TimeLimitReached, QpFailed)
    assert digests(records) == expected_digests(plan)
    assert all(record.event.open == 0 for record in of(records, SlotsAtEnd))
    assert "overrun" not in {record.event.reason for record in of(records, PacketIgnored)}
    assert {record.event.kind for record in of(records, FaultStruck)} >= set(struck)
    return records


def job(**options):
    return {"size_bytes": 30_004, "message_packets": 16, **options}


@pytest.mark.parametrize("hosts", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("protocol", ["netreduce", "ring", "shift"])
def test_every_size_without_loss(hosts, protocol):
    records = check(rack_plan(hosts, job=job(protocol=protocol)))
    assert not of(records, Retransmission, NakSent, RnrNakSent, FrameRejected)


@pytest.mark.parametrize("hosts", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("protocol", ["netreduce", "ring", "shift"])
def test_every_size_with_every_packet_fault(hosts, protocol):
    links = rack_links(hosts)
    faults = (
        Loss("loss", links, rate=0.02),
        Duplicate("duplicate", links, rate=0.03, delay_ns=MS),
        Reorder("reorder", links, rate=0.03, delay_ns=MS),
        Corrupt("corrupt", links, rate=0.02),
        Burst("burst", links, rate=0.005),
    )
    plan = rack_plan(hosts, seed=hosts, faults=faults, job=job(protocol=protocol), transport=QUICK)
    records = check(plan, struck=("loss", "duplicate", "reorder", "corrupt"))
    assert of(records, Retransmission)


@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("rate", [0.01, 0.05])
def test_both_verbs_with_loss(verb, rate):
    loss = Loss("loss", rack_links(3), rate=rate)
    check(rack_plan(3, faults=(loss,), job=job(), transport={"verb": verb, **QUICK}), struck=("loss",))


@pytest.mark.parametrize(
    ("op", "dtype", "protocol"),
    [
        (op, dtype, protocol)
        for op in ("sum", "max", "xor")
        for dtype in ("float32", "int32", "int32sat")
        for protocol in ("netreduce", "ring")
        if (op, dtype, protocol) != ("sum", "int32sat", "ring")
    ],
)
def test_every_arithmetic(op, dtype, protocol):
    loss = Loss("loss", rack_links(3), rate=0.02)
    work = job(op=op, dtype=dtype, protocol=protocol, size_bytes=20_000)
    check(rack_plan(3, faults=(loss,), job=work, transport=QUICK))


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("packets", [1, 3, 16, 170])
def test_windows_and_message_lengths(window, packets):
    loss = Loss("loss", rack_links(2), rate=0.02)
    work = job(window_messages=window, message_packets=packets, size_bytes=max(20_000, packets * 1024 + 8))
    check(rack_plan(2, faults=(loss,), job=work, transport=QUICK))


@pytest.mark.parametrize("credit", ["both", "received", "acked"])
def test_credit_variants_on_one_switch(credit):
    loss = Loss("loss", rack_links(4), rate=0.03)
    check(rack_plan(4, faults=(loss,), job=job(credit=credit, iterations=2), transport=QUICK), struck=("loss",))


@pytest.mark.parametrize("protocol", ["netreduce", "ring", "shift"])
def test_sequence_numbers_wrap_in_the_middle_of_a_message(protocol):
    loss = Loss("loss", rack_links(3), rate=0.03)
    transport = {"start_psn": 0xFFFFFC, **QUICK}
    check(rack_plan(3, faults=(loss,), job=job(protocol=protocol), transport=transport), struck=("loss",))


@pytest.mark.parametrize("protocol", ["netreduce", "ring", "shift"])
@pytest.mark.parametrize("verb", ["write", "send"])
def test_iterations_follow_one_another(protocol, verb):
    loss = Loss("loss", rack_links(3), rate=0.02)
    work = job(protocol=protocol, iterations=5, size_bytes=20_000, straggler=Straggler(1, 2 * MS))
    records = check(rack_plan(3, faults=(loss,), job=work, transport={"verb": verb, **QUICK}), struck=("loss",))
    assert len(of(records, CollectiveCompleted)) == 15


@pytest.mark.parametrize("elements", [1, 2, 251, 252, 253, 252 + 256, 252 + 256 + 1])
def test_messages_at_the_borders_of_packets(elements):
    loss = Loss("loss", rack_links(3), rate=0.02)
    for protocol in "netreduce", "ring", "shift":
        check(rack_plan(3, faults=(loss,), job=job(size_bytes=4 * elements, protocol=protocol), transport=QUICK))


@pytest.mark.parametrize("mtu", [256, 512, 2048, 4096])
def test_every_path_mtu(mtu):
    loss = Loss("loss", rack_links(2), rate=0.02)
    check(rack_plan(2, faults=(loss,), job=job(), transport={"path_mtu": mtu, **QUICK}, link={"mtu": 9000}))


def test_one_lost_packet_costs_only_the_connection_that_lost_it():
    """Rule A of the switch, seen from the hosts: the other senders never go back."""
    drop = Drop("drop", ("h2-s1",), (Direction.UP,), match=Match(psn_offset=20, attempt=1))
    plan = rack_plan(4, faults=(drop,), job=job(size_bytes=100_000, message_packets=170))
    records = check(plan, struck=("drop",))
    again = of(records, Retransmission)
    assert {(record.node, record.event.cause) for record in again} == {("h2", "nak")}


def test_the_hello_lost_before_the_switch_is_recovered_by_timers():
    drop = Drop("drop", ("h2-s1",), (Direction.UP,), match=Match(psn_offset=0, attempt=1))
    records = check(rack_plan(3, faults=(drop,), job=job(), transport=QUICK), struck=("drop",))
    assert {record.event.cause for record in of(records, Retransmission)} == {"timeout"}


@pytest.mark.parametrize("delay_us", [10, 500])
@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("packets", [2, 8])
def test_knee(window, packets, delay_us):
    """Full rate if and only if (N - 1) T_msg >= R; below it N messages per T_msg + R. R is the time from a message's
    last byte to that of its result, two links and a frame; ACKs, which would queue behind data, give no credit here."""
    rate, count = 100_000_000, 40
    work = {
        "size_bytes": count * (packets * 1024 - 16), "message_packets": packets, "window_messages": window,
        "credit": "received",
    }  # fmt: skip
    plan = rack_plan(2, job=work, link={"rate_bps": rate, "delay_ns": delay_us * 1000})
    records = simulate(plan)
    start = max(record.t for record in of(records, MessageAcked) if record.event.message == 0)
    took = max(record.event.completed_ns for record in of(records, CollectiveCompleted)) - start
    frame_ns = 1082 * 8 * 1_000_000_000 / rate
    t_msg = packets * frame_ns + 20 * 80
    unloaded = 2 * delay_us * 1000 + frame_ns
    expected = count * max(t_msg, (t_msg + unloaded) / window)
    assert 0.9 < expected / took < 1.1


@pytest.mark.parametrize("hosts", [2, 4, 6])
def test_the_ring_is_a_good_baseline_and_netreduce_gains_what_it_should(hosts):
    """Time ratio to the ring 2(P-1)/P within 5 %, the ring itself within 5 % of its own bound."""
    size, rate = 4 * 25_000 * hosts, 1_000_000_000
    times = {}
    for protocol in "netreduce", "ring":
        plan = rack_plan(hosts, job={"size_bytes": size, "protocol": protocol}, link={"rate_bps": rate})
        times[protocol] = max(record.event.completed_ns for record in of(simulate(plan), CollectiveCompleted))
    bound = size * 1082 / 1024 * 8 * 1_000_000_000 / rate
    ideal = 2 * (hosts - 1) / hosts
    assert 1 < times["ring"] / (bound * ideal) < 1.05
    assert 0.95 * ideal < times["ring"] / times["netreduce"] < 1.05 * ideal

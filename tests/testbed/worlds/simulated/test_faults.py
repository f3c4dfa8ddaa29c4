"""Every kind of fault strikes in the simulated world, does what it is for, and heals: the job gets through."""

from dataclasses import replace

import pytest

from switch_nodes.events import PacketIgnored
from switch_nodes.tap import Tap
from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.healing import heals_at, kind_of
from testbed.faults.kinds import FAULT_KINDS
from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    Forge,
    Kill,
    LinkDown,
    Loss,
    Match,
    Pause,
    RateChange,
    Reorder,
    Window,
)
from testbed.faults.opcodes import DATA_OPCODES
from testbed.history.events import NodeStarted
from testbed.worlds.simulated import simulate
from tests.support.simulation import digests, expected_digests, of, rack_links, rack_plan
from topologies import Direction
from workloads.events import CollectiveCompleted, FrameRejected, Retransmission, WorkerFailed
from workloads.wire import decode_packet

MS = 1_000_000
LINKS, H1, UP = rack_links(3), ("h1-s1",), (Direction.UP,)
WINDOW = Window(3 * MS, 12 * MS)
DATA = Match(DATA_OPCODES)
JOB = {"size_bytes": 200_000, "message_packets": 16, "window_messages": 4}


class Kept(Tap):
    """Keeps what comes into the switch, behind the faults of the way up."""

    def __init__(self):
        self.arrived, self.lost = [], 0

    def record(self, batch, start, stop, now, outgoing):
        if not outgoing:
            self.arrived += [(now, int(batch.ports[i]), bytes(batch.row(i))) for i in range(start, stop)]

    def dropped(self, port, frame, now, outgoing, reason):
        self.lost += reason == "filter"

    def trimmed(self, port, frame, now):
        pass

    def close(self):
        pass


def run(*faults, **options):
    plan, tap = rack_plan(3, faults=faults, **({"job": JOB, "transport": {"timeout_code": 11}} | options)), Kept()
    records = simulate(plan, {"s1": tap})
    return plan, records, tap


def whole(records):
    return max(record.event.completed_ns for record in of(records, CollectiveCompleted))


def lost(records, tap, clean):
    assert tap.lost == len(of(records, FaultStruck))
    assert of(records, Retransmission)
    assert not of(clean, Retransmission)


def damaged(records, tap, clean):
    struck = of(records, FaultStruck)
    ignored = [r for r in of(records, PacketIgnored) if r.event.reason == "icrc"]
    rejected = [r for r in of(records, FrameRejected) if r.event.reason == "icrc"]
    assert len(ignored) + len(rejected) == len(struck)


def doubled(records, tap, clean):
    frames = [frame for _, _, frame in tap.arrived]
    assert len(frames) - len(set(frames)) >= len(of(records, FaultStruck)) > 0
    assert any(r.event.reason in ("duplicate", "stale") for r in of(records, PacketIgnored))


def overtaken(records, tap, clean):
    # In front of a gap a worker's packets wait or are refused; nothing was lost.
    assert tap.lost == 0
    assert arrived_late(tap) > 0 == arrived_late(run()[2])


def arrived_late(tap):
    """How many first packets came in behind a later one of their connection."""
    newest, seen, late = {}, set(), 0
    for _, port, frame in tap.arrived:
        packet = decode_packet(frame)
        who = (port, packet.bth.dest_qpn, packet.bth.opcode in DATA_OPCODES)
        if (who, packet.bth.psn) in seen:
            continue
        seen.add((who, packet.bth.psn))
        if who in newest and (packet.bth.psn - newest[who]) & 0xFFFFFF > 1 << 23:
            late += 1
        else:
            newest[who] = packet.bth.psn
    return late


def later(records, tap, clean):
    assert tap.lost == 0
    assert whole(records) > whole(clean) + MS


def marked(records, tap, clean):
    assert sum(frame[15] & 3 == 3 for _, _, frame in tap.arrived) == len(of(records, FaultStruck))


def joined_by_strangers(records, tap, clean):
    strangers = [frame for _, _, frame in tap.arrived if frame[26:30] == bytes((10, 255, 255, 254))]
    assert len(strangers) == len(of(records, FaultStruck))
    assert tap.lost == 0


CASES = [
    (Loss("f", LINKS, window=WINDOW, rate=0.05), lost),
    (Burst("f", LINKS, window=WINDOW, rate=0.02, recover=0.5), lost),
    (Drop("f", H1, UP, WINDOW, Match(DATA_OPCODES, attempt=1), 0.1), lost),
    (Corrupt("f", H1, UP, WINDOW, DATA, 0.1), damaged),
    (Duplicate("f", H1, UP, WINDOW, DATA, 0.2), doubled),
    (Reorder("f", H1, UP, WINDOW, DATA, 0.1, delay_ns=MS // 5), overtaken),
    (Delay("f", H1, UP, WINDOW, DATA, delay_ns=2 * MS, jitter_ns=MS // 2), later),
    (EcnMark("f", H1, UP, WINDOW, DATA, 0.3), marked),
    (Forge("f", H1, UP, WINDOW, DATA, 0.2, what="foreign"), joined_by_strangers),
    (LinkDown("f", H1, UP, Window(3 * MS, 5 * MS), count=2, period_ns=8 * MS), lost),
    (RateChange("f", H1, UP, WINDOW, 20_000_000), later),
    (Pause("f", "s1", WINDOW), later),
    (Pause("f", "h2", WINDOW), later),
    (Kill("f", "h2", Window(3 * MS, 12 * MS)), None),
]


def test_no_kind_is_left_out():
    """A pause storm needs PFC: `tests/testbed/worlds/test_lossless_worlds.py`."""
    assert {kind_of(fault) for fault, _ in CASES} == FAULT_KINDS.keys() - {"pause_storm"}


@pytest.mark.parametrize(("fault", "effect"), CASES, ids=lambda value: kind_of(value) if hasattr(value, "name") else "")
def test_it_strikes_in_its_window_does_its_work_and_heals(fault, effect):
    plan, records, tap = run(fault)
    struck, healed = of(records, FaultStruck), of(records, FaultHealed)
    assert struck
    assert {(r.event.fault, r.event.kind, r.event.backend) for r in struck} == {("f", kind_of(fault), "virtual")}
    assert all(fault.window.start_ns <= record.t < heals_at(fault) for record in struck)
    assert healed
    assert all(record.t >= heals_at(fault) and record.event.fault == "f" for record in healed)
    if effect is None:  # a worker that comes back without memory cannot finish the job; nothing wrong may come of it
        assert [r.node for r in of(records, NodeStarted) if r.t] == ["h2"]
        assert digests(records).items() <= expected_digests(plan).items()
        assert of(records, WorkerFailed)
        return
    assert digests(records) == expected_digests(plan)
    assert whole(records) > heals_at(fault), "the job went on when the fault was over"
    effect(records, tap, run()[1])


def test_a_worker_that_starts_anew_is_nobody_to_what_is_on_its_way_to_its_former_self():
    """Late duplicates of messages that its former self has are passed on raw (rule E): with the old queue pairs the new
    self would take them for results."""
    late = Duplicate("late", H1, UP, match=DATA, delay_ns=4 * MS)
    faults = (replace(late, links=("h2-s1",)), Kill("f", "h3", Window(MS // 2, 3 * MS)))
    job = {"size_bytes": 4, "message_packets": 1, "window_messages": 1, "dtype": "int32", "iterations": 2}
    plan, records, _ = run(*faults, job=job, transport={"timeout_code": 9, "start_psn": 0}, link={"rate_bps": 10**9})
    assert [r.node for r in of(records, NodeStarted) if r.t] == ["h3"]
    assert [r for r in of(records, FrameRejected) if r.node == "h3" and r.event.reason == "unknown_qp"]
    assert digests(records).items() <= expected_digests(plan).items()


def test_without_a_fault_nothing_strikes_and_nothing_is_sent_again():
    plan, records, _ = run()
    assert digests(records) == expected_digests(plan)
    assert not of(records, FaultStruck, FaultHealed, Retransmission, FrameRejected, PacketIgnored)


def test_the_jitter_of_a_link_spreads_arrivals_and_reorders_nothing():
    link = {"delay_ns": 3 * MS, "jitter_ns": MS // 2}
    plan, records, tap = run(link=link, job={"size_bytes": 60_000}, transport={})
    assert digests(records) == expected_digests(plan)
    assert arrived_late(tap) == 0
    # The first frame of each worker left its NIC at 0: its arrival is serialisation and the link's delay.
    firsts = {port: now for now, port, _ in reversed(tap.arrived)}
    flights = [now - 3 * MS for now in firsts.values()]
    assert len(set(flights)) == 3
    assert all(-MS // 2 < flight < MS // 2 + 20_000 for flight in flights)
    assert max(flights) - min(flights) > 10_000

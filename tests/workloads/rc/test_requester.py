"""The requester without bytes: answers and time in, packets out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.rc_pair import MTU, START_PSNS, pair_configs, pattern
from workloads.events import FrameRejected, QpFailed, Retransmission
from workloads.rc import MAX_WINDOW, Requester, SendCompleted, SendRequest, rto_ns
from workloads.rc.requester_table import REQUESTER_TABLE, RequesterAction, RequesterEvent, RequesterState
from workloads.rc.tally import Counters, Outbox
from workloads.wire import ACK_UNLIMITED, RNR_TIMER_NS, Nak, psn_add, rnr_syndrome

pytestmark = pytest.mark.parametrize("first", START_PSNS)

MS = 1_000_000


class Driver:
    """A requester with 8 packets posted and sent, unless told otherwise."""

    def __init__(self, first: int, *, packets: int = 8, sent: int = 8, **overrides: Any) -> None:
        self.config = pair_configs(psn=first, **({"timeout_code": 10} | overrides))[0]
        self.counters, self.outbox = Counters(), Outbox()
        self.requester: Any = Requester(self.config, self.counters, self.outbox)
        self.first, self.now = first, 0
        if packets:
            self.post(packets, wr_id=1)
        assert self.take(sent) == list(range(sent))

    def post(self, packets: int, wr_id: int) -> None:
        self.requester.post(SendRequest(wr_id, (pattern(packets * MTU),)))

    def take(self, limit: int = 1000) -> list[int]:
        """PSNs, counted from the first, of what may be sent now."""
        taken: list[int] = []
        while len(taken) < limit and (packet := self.requester.next_packet(self.now)) is not None:
            taken.append((packet.psn - self.first) % (1 << 24))
        return taken

    def answer(self, offset: int, syndrome: int = ACK_UNLIMITED) -> None:
        self.requester.recovery.hear(psn_add(self.first, offset), syndrome, self.now)

    def events(self, kind: type) -> list[Any]:
        return [e for e in self.outbox.events if isinstance(e, kind)]

    def statuses(self) -> list[str]:
        return [c.status for c in self.outbox.completions if isinstance(c, SendCompleted)]


def test_an_ack_for_the_middle_of_a_message_counts(first: int) -> None:
    d = Driver(first)
    d.now = 5
    d.answer(3)
    assert d.requester.outstanding == 4
    assert d.requester.deadline == 5 + rto_ns(10)
    assert d.statuses() == []
    d.answer(7)
    assert d.requester.outstanding == 0
    assert d.requester.deadline is None
    assert d.requester.recovery.state is RequesterState.IDLE
    assert d.statuses() == ["SUCCESS"]


def test_one_ack_completes_several_messages(first: int) -> None:
    d = Driver(first)
    d.post(1, wr_id=2)
    d.post(3, wr_id=3)
    d.take()
    d.answer(10)
    assert d.statuses() == ["SUCCESS", "SUCCESS"]
    assert d.requester.recovery.state is RequesterState.SENDING
    d.answer(11)
    assert d.statuses() == ["SUCCESS"] * 3


@pytest.mark.parametrize("stale", [-1, 0, 3])
def test_stale_and_duplicate_acks_change_nothing(first: int, stale: int) -> None:
    d = Driver(first)
    d.answer(3)
    deadline = d.requester.deadline
    d.now = 10
    d.answer(stale)
    assert (d.requester.outstanding, d.requester.deadline) == (4, deadline)
    assert not d.outbox.events


@pytest.mark.parametrize("syndrome", [ACK_UNLIMITED, Nak.PSN_SEQUENCE, Nak.REMOTE_ACCESS, rnr_syndrome(1)])
@pytest.mark.parametrize("offset", [8, 9, MAX_WINDOW - 8])
def test_an_answer_about_a_psn_never_sent_is_dropped_and_told(first: int, syndrome: int, offset: int) -> None:
    d = Driver(first, packets=20)
    d.answer(offset, syndrome)
    assert d.requester.outstanding == 20
    assert d.requester.recovery.state is RequesterState.SENDING
    psn = psn_add(first, offset)
    assert d.events(FrameRejected) == [
        FrameRejected(
            "bad_ack", f"10.0.0.1 QP 0x11 -> 10.0.0.2 QP 0x22: an answer about PSN {psn}, which was never sent"
        )
    ]


def test_after_a_go_back_sent_psns_may_still_be_acknowledged(first: int) -> None:
    d = Driver(first)
    d.answer(2, Nak.PSN_SEQUENCE)
    assert d.take(2) == [2, 3]
    d.answer(6)  # the first copies were only late
    assert d.take() == [7]
    d.answer(7)
    assert d.statuses() == ["SUCCESS"]


def test_a_nak_acknowledges_what_is_before_it_and_goes_back(first: int) -> None:
    d = Driver(first)
    d.post(1, wr_id=2)
    d.take()
    d.answer(8, Nak.PSN_SEQUENCE)
    assert d.statuses() == ["SUCCESS"]
    assert d.take() == [8]
    assert d.events(Retransmission) == [Retransmission(0x11, "nak", psn_add(first, 8), 1, resent_before=0)]


def test_one_retry_per_gap(first: int) -> None:
    d = Driver(first)
    d.answer(3, Nak.PSN_SEQUENCE)
    assert d.take(3) == [3, 4, 5]
    d.answer(3, Nak.PSN_SEQUENCE)
    assert d.take() == [6, 7], "the second NAK for the same gap is ignored"
    assert len(d.events(Retransmission)) == 1
    d.answer(5, Nak.PSN_SEQUENCE)
    assert d.take() == [5, 6, 7], "a later one is a new gap"


def test_a_sequence_nak_behind_an_ack_is_a_new_gap(first: int) -> None:
    d = Driver(first)
    d.answer(3, Nak.PSN_SEQUENCE)
    d.take()
    d.answer(3)
    d.answer(4, Nak.PSN_SEQUENCE)
    assert d.take() == [4, 5, 6, 7]


def test_old_naks_are_ignored(first: int) -> None:
    d = Driver(first)
    d.answer(4)
    d.answer(2, Nak.PSN_SEQUENCE)
    d.answer(2, rnr_syndrome(1))
    d.answer(2, Nak.REMOTE_OPERATIONAL)
    assert d.take() == []
    assert d.requester.recovery.state is RequesterState.SENDING


@pytest.mark.parametrize("retry_count", [0, 1, 2, 7])
def test_timeouts_until_the_retries_are_spent(first: int, retry_count: int) -> None:
    d = Driver(first, retry_count=retry_count)
    d.post(2, wr_id=2)
    rto = rto_ns(10)
    assert rto == 4096 << 10
    for attempt in range(1, retry_count + 1):
        assert d.requester.deadline == attempt * rto
        d.now = attempt * rto - 1
        d.requester.on_timer(d.now)
        assert d.counters.timeouts == attempt - 1, "early does nothing"
        d.now += 1
        d.requester.on_timer(d.now)
        assert d.take()[:8] == list(range(8))
    d.now = (retry_count + 1) * rto
    d.requester.on_timer(d.now)
    assert d.requester.recovery.state is RequesterState.ERROR
    assert d.requester.deadline is None
    assert d.statuses() == ["RETRY_EXC", "FLUSH"]
    assert [e.cause for e in d.events(Retransmission)] == ["timeout"] * retry_count
    assert d.events(QpFailed) == [
        QpFailed(
            0x11,
            "RETRY_EXC",
            first,
            f"10.0.0.1 QP 0x11 -> 10.0.0.2 QP 0x22: PSN {first} (message 1) was sent {retry_count + 1} times without "
            f"being acknowledged (retry_count {retry_count}, timeout 4.1943 ms each time)",
        )
    ]
    assert d.take() == []
    d.post(1, wr_id=3)
    assert d.statuses() == ["RETRY_EXC", "FLUSH", "FLUSH"]
    assert d.requester.outstanding == 0


def test_naks_spend_retries_too_and_progress_refills_them(first: int) -> None:
    d = Driver(first, retry_count=1)
    d.answer(1, Nak.PSN_SEQUENCE)
    d.take()
    d.answer(2, Nak.PSN_SEQUENCE)  # moved on: a full budget again
    d.take()
    assert d.requester.recovery.state is RequesterState.RETRYING
    d.now = 10**9
    d.requester.on_timer(d.now)  # same PSN: spent
    assert d.statuses() == ["RETRY_EXC"]


def test_without_retries_the_first_nak_fails(first: int) -> None:
    d = Driver(first, retry_count=0)
    d.answer(0, Nak.PSN_SEQUENCE)
    assert d.statuses() == ["RETRY_EXC"]


def test_seven_means_seven_unless_told_to_imitate_rxe(first: int) -> None:
    for infinite in (False, True):
        d = Driver(first, retry7_infinite=infinite, retry_count=7)
        for _ in range(50):
            d.now += rto_ns(10) or 0
            d.requester.on_timer(d.now)
            d.take()
        assert (d.requester.recovery.state is RequesterState.ERROR) is not infinite
        assert d.counters.timeouts == (50 if infinite else 8)
    d = Driver(first, retry7_infinite=True, retry_count=1)
    for _ in range(2):
        d.now += rto_ns(10) or 0
        d.requester.on_timer(d.now)
        d.take()
    assert d.requester.recovery.state is RequesterState.ERROR, "the option is about seven"


def test_timeout_code_0_never_fires(first: int) -> None:
    assert rto_ns(0) is None
    d = Driver(first, timeout_code=0)
    assert d.requester.deadline is None
    d.requester.on_timer(1 << 62)
    assert d.take() == []
    d.answer(3, Nak.PSN_SEQUENCE)
    assert d.take() == [3, 4, 5, 6, 7]
    assert d.requester.deadline is None


@pytest.mark.parametrize("code", range(1, 32))
def test_timeout_codes(first: int, code: int) -> None:
    d = Driver(first, timeout_code=code)
    assert d.requester.deadline == 4096 * 2**code
    assert (rto_ns(14) or 0) / 1e6 == pytest.approx(67.1, abs=0.01)


@pytest.mark.parametrize("code", range(32))
def test_an_rnr_nak_silences_for_its_timer(first: int, code: int) -> None:
    d = Driver(first, packets=12)
    d.now = 77
    d.answer(2, rnr_syndrome(code))
    assert d.requester.deadline == 77 + RNR_TIMER_NS[code]
    d.answer(2, Nak.PSN_SEQUENCE)  # of the packets behind: must not start early
    d.answer(2, rnr_syndrome(0))
    assert d.take() == []
    d.now = 77 + RNR_TIMER_NS[code]
    d.requester.on_timer(d.now - 1)
    assert d.take() == []
    d.requester.on_timer(d.now)
    assert d.take(3) == [2, 3, 4]
    d.answer(2, Nak.PSN_SEQUENCE)  # the same, late
    assert d.take() == [5, 6, 7, 8, 9, 10, 11]
    assert [e.cause for e in d.events(Retransmission)] == ["rnr"]
    assert d.counters.timeouts == 0


@pytest.mark.parametrize("rnr_retry", [0, 2])
def test_rnr_retries_are_spent(first: int, rnr_retry: int) -> None:
    d = Driver(first, rnr_retry=rnr_retry)
    for _ in range(rnr_retry):
        d.answer(0, rnr_syndrome(12))
        d.now += RNR_TIMER_NS[12]
        d.requester.on_timer(d.now)
        assert d.take() == list(range(8))
    d.answer(0, rnr_syndrome(12))
    assert d.statuses() == ["RNR_RETRY_EXC"]
    (failed,) = d.events(QpFailed)
    assert failed.detail.endswith(
        f"PSN {first} (message 1) found no receive posted, {rnr_retry + 1} times (rnr_retry {rnr_retry})"
    )


def test_rnr_retry_7_never_ends(first: int) -> None:
    d = Driver(first, rnr_retry=7)
    for _ in range(100):
        d.answer(0, rnr_syndrome(12))
        d.now += RNR_TIMER_NS[12]
        d.requester.on_timer(d.now)
        d.take()
    assert d.requester.recovery.state is RequesterState.RETRYING
    d.answer(7)
    assert d.statuses() == ["SUCCESS"]


def test_an_ack_during_an_rnr_wait_does_not_end_it(first: int) -> None:
    d = Driver(first, timeout_code=0)
    d.answer(2, rnr_syndrome(12))
    d.answer(4)
    assert d.take() == []
    assert d.requester.deadline == RNR_TIMER_NS[12]
    d.requester.on_timer(RNR_TIMER_NS[12])
    assert d.take() == [5, 6, 7]
    d = Driver(first)
    d.answer(2, rnr_syndrome(12))
    d.answer(7)
    assert d.requester.recovery.state is RequesterState.IDLE
    assert d.requester.deadline is None


@pytest.mark.parametrize(
    ("syndrome", "status", "text"),
    [
        (Nak.INVALID_REQUEST, "REM_INV_REQ", "refused as an invalid request"),
        (Nak.REMOTE_ACCESS, "REM_ACCESS", "refused: remote access error (memory key, range or rights)"),
        (Nak.REMOTE_OPERATIONAL, "REM_OP", "given up by the responder: remote operational error"),
    ],
)
def test_fatal_naks(first: int, syndrome: int, status: str, text: str) -> None:
    d = Driver(first, packets=4, sent=4)
    d.post(4, wr_id=2)
    d.post(4, wr_id=3)
    d.take()
    d.answer(5, syndrome)
    assert d.statuses() == ["SUCCESS", status, "FLUSH"]
    psn = psn_add(first, 5)
    detail = f"10.0.0.1 QP 0x11 -> 10.0.0.2 QP 0x22: PSN {psn} (message 2) was {text}"
    assert d.events(QpFailed) == [QpFailed(0x11, status, psn, detail)]
    assert d.requester.deadline is None
    d.answer(11)
    assert d.statuses() == ["SUCCESS", status, "FLUSH"]


@pytest.mark.parametrize("syndrome", [Nak.INVALID_RD_REQUEST, 0x7F, 0x5F, 0xFF])
def test_reserved_syndromes_change_nothing(first: int, syndrome: int) -> None:
    d = Driver(first)
    d.answer(3, syndrome)
    assert d.requester.outstanding == 8
    assert d.requester.recovery.state is RequesterState.SENDING


def test_no_more_than_half_the_psns_are_outstanding(first: int) -> None:
    config = replace(pair_configs(psn=first, window_packets=1 << 30)[0], path_mtu=MTU)
    requester: Any = Requester(config, Counters(), Outbox())
    page = bytes(MTU << 12)
    requester.post(SendRequest(1, (page,) * 2048))  # 2^23 packets that share one page
    assert requester.outstanding == MAX_WINDOW + 1
    requester.recovery.nxt += MAX_WINDOW - 1
    requester.recovery.max_nxt = requester.recovery.nxt
    assert requester.next_packet(0) is not None
    assert requester.next_packet(0) is None


def test_the_table_is_total_and_errors_are_final(first: int) -> None:
    assert len(REQUESTER_TABLE) == len(RequesterState) * len(RequesterEvent)
    for (state, event), step in REQUESTER_TABLE.items():
        if state is RequesterState.ERROR:
            assert step.state is RequesterState.ERROR
        if RequesterAction.FAIL in step.actions:
            assert step.state is RequesterState.ERROR
        if event is RequesterEvent.ACK_STALE:
            assert step == (state, ())

"""Any schedule of deliveries, losses, copies, swaps and retransmissions, found and shrunk by hypothesis."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.netreduce_harness import Job, Network

RANKS = st.integers(0, 5)


class Schedules(RuleBasedStateMachine):
    """Model hosts on faulty links. The hosts themselves check that every result they accept is the right one, the
    network checks that headers and answers cross the switch unchanged, and everything must complete when faults end."""

    network: Network

    @initialize(
        size=st.integers(2, 4),
        lengths=st.lists(st.integers(1, 3), min_size=2, max_size=6),
        window=st.integers(1, 2),
        release=st.sampled_from(["order", "order", "asap"]),
        hello=st.booleans(),
        start_psn=st.sampled_from([0, 0xFFFFFC]),
        irn=st.booleans(),
    )
    def begin(
        self, size: int, lengths: list[int], window: int, release: str, hello: bool, start_psn: int, irn: bool
    ) -> None:
        packets = (1, *lengths) if hello else tuple(lengths)
        job = Job(
            size=size, lengths=packets, message_packets=3, window=window, hello=hello, start_psn=start_psn,
            tail_bytes=8,
            irn=irn,
        )  # fmt: skip
        self.network = Network(job, release=release)

    def _rank(self, number: int) -> int:
        return number % self.network.job.size

    @rule(number=RANKS, burst=st.integers(1, 6))
    def send(self, number: int, burst: int) -> None:
        for _ in range(burst):
            self.network.send(self._rank(number))

    @rule(number=RANKS, burst=st.integers(1, 4))
    def deliver_to_switch(self, number: int, burst: int) -> None:
        for _ in range(burst):
            self.network.deliver_up(self._rank(number))

    @rule(number=RANKS, burst=st.integers(1, 4))
    def deliver_to_host(self, number: int, burst: int) -> None:
        for _ in range(burst):
            self.network.deliver_down(self._rank(number))

    @rule()
    def everything_moves(self) -> None:
        self.network.step()

    @rule(number=RANKS, up=st.booleans())
    def drop(self, number: int, up: bool) -> None:
        link = (self.network.up if up else self.network.down)[self._rank(number)]
        if link:
            link.popleft()

    @rule(number=RANKS, up=st.booleans(), behind=st.integers(0, 5))
    def duplicate(self, number: int, up: bool, behind: int) -> None:
        link = (self.network.up if up else self.network.down)[self._rank(number)]
        if link:
            link.insert(behind, link[0])

    @rule(number=RANKS, up=st.booleans())
    def reorder(self, number: int, up: bool) -> None:
        link = (self.network.up if up else self.network.down)[self._rank(number)]
        if len(link) > 1:
            link[0], link[1] = link[1], link[0]

    @rule(number=RANKS)
    def timer_fires(self, number: int) -> None:
        self.network.hosts[self._rank(number)].timeout()

    @invariant()
    def credit_holds(self) -> None:
        if hasattr(self, "network"):
            counters = self.network.bench.counters()
            assert counters["overrun"] == counters["mismatch"] == counters["inconsistent_first"] == 0

    def teardown(self) -> None:
        if hasattr(self, "network"):
            self.network.settle()
            self.network.check_end()


Schedules.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestSchedules = Schedules.TestCase

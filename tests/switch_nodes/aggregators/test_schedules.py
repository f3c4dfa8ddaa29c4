"""Any schedule of deliveries, losses, copies, swaps, marks and retransmissions, found and shrunk by hypothesis."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from switch_nodes.aggregators import AtpProgram, EsaProgram
from switch_nodes.jobs import AggregatorKnobs
from tests.support.aggregator_network import FIRST_JOB, Layout, Network
from workloads.wire.ecn import mark_ce

ONE_LEVEL = st.lists(
    st.builds(Layout, st.tuples(st.integers(1, 3)), st.just(0), st.integers(0, 2)), min_size=1, max_size=3
)
TWO_LEVELS = st.lists(
    st.builds(
        Layout,
        st.sampled_from([(2, 2), (1, 2), (2, 1, 1), (0, 2, 1), (3,)]),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=2,
)
KNOBS = st.builds(
    AggregatorKnobs,
    preempt=st.booleans(),
    age=st.sampled_from(["none", "minus1", "shift1"]),
    free=st.sampled_from(["early", "ack"]),
    ps_copy=st.booleans(),
    reminder=st.just(True),
    reclaim=st.booleans(),
)
ANY = st.integers(0, 60)


class Schedules(RuleBasedStateMachine):
    """The network looks at everything that leaves a switch, and everything must end when faults do."""

    network: Network

    @initialize(
        program=st.sampled_from([AtpProgram, EsaProgram, EsaProgram]),
        layouts=ONE_LEVEL | TWO_LEVELS,
        knobs=KNOBS,
        memory=st.integers(2, 4),
        window=st.integers(1, 2),
    )
    def begin(self, program: type, layouts: list[Layout], knobs: AggregatorKnobs, memory: int, window: int) -> None:
        self.network = Network(program, layouts, knobs=knobs, memory=memory, window=window, blocks=4)

    def _job(self, number: int) -> tuple[int, int]:
        job = FIRST_JOB + number % len(self.network.jobs)
        return job, number // len(self.network.jobs) % self.network.jobs[job].size

    @rule(burst=st.integers(1, 4))
    def all_start(self, burst: int) -> None:
        for _ in range(burst):
            for job, j in self.network.jobs.items():
                for rank in range(j.size):
                    self.network.start(job, rank)

    @rule(number=ANY)
    def start(self, number: int) -> None:
        self.network.start(*self._job(number))

    @rule(number=ANY, burst=st.integers(1, 8))
    def deliver(self, number: int, burst: int) -> None:
        """Any of them: a flight may overtake all others."""
        for _ in range(burst):
            if self.network.flights:
                self.network.deliver(number % len(self.network.flights))

    @rule(number=ANY)
    def drop(self, number: int) -> None:
        if self.network.flights:
            del self.network.flights[number % len(self.network.flights)]

    @rule(number=ANY)
    def duplicate(self, number: int) -> None:
        flights = self.network.flights
        if flights:
            flights.insert(number % 7, flights[number % len(flights)])

    @rule(number=ANY)
    def mark(self, number: int) -> None:
        if self.network.flights:
            flight = self.network.flights[number % len(self.network.flights)]
            flight.frame = mark_ce(flight.frame) or flight.frame

    @rule(number=ANY, block=st.integers(0, 3))
    def timer_fires(self, number: int, block: int) -> None:
        self.network.timeout(*self._job(number), block)

    @rule(number=ANY, block=st.integers(0, 3))
    def server_asks(self, number: int, block: int) -> None:
        self.network.remind(self._job(number)[0], block)
        self.network.nack(*self._job(number), block)

    def teardown(self) -> None:
        if hasattr(self, "network"):
            self.network.settle()
            self.network.check_end()


Schedules.TestCase.settings = settings(max_examples=50, stateful_step_count=50, deadline=None)
TestSchedules = Schedules.TestCase

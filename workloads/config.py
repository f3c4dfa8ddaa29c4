"""Configuration of one worker. Values only: they travel as JSON to another process or host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from workloads.codec import unless_default
from workloads.layers import ComputeConfig
from workloads.rc.numbers import psn_of
from workloads.shares import ArithmeticSpec, Framing, GroupShare, JobShare
from workloads.task import MeshTask
from workloads.wire import Envelope
from workloads.wire.packet import EMPTY_FRAME_BYTES

if TYPE_CHECKING:
    from workloads.machine import HostMachine
    from workloads.rc import ReliableTransport

__all__ = [
    "CHANNEL", "DIGEST_DELAY_NS", "ELEMENT_BYTES", "IRN_END_TO_END", "IRN_HELD", "IRN_RECOVERIES", "PHASE_KINDS",
    "ArithmeticSpec", "CollectiveConfig", "DcqcnConfig", "Framing", "GroupShare", "HostConfig", "IrnConfig",
    "JobShare", "MeshTask", "MeshedConfig", "NodeConfig", "PhaseConfig", "QpConfig", "WorkerConfig", "WorkloadConfig",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DcqcnConfig:
    """DCQCN on one queue pair, in both roles; `testbed.plan.congestion` makes it. Rates are in bits of Ethernet frames
    per second (14-byte header included), times in ns of the world."""

    line_rate_bps: int
    """rate of the sender's link, which the sender never exceeds"""
    min_rate_bps: int
    additive_bps: int
    """R_AI"""
    hyper_bps: int
    """R_HAI"""
    alpha_timer_ns: int
    """T_alpha: that long without a CNP lets alpha decay once"""
    increase_timer_ns: int
    """T"""
    byte_counter_bytes: int
    """B, of request frames"""
    cnp_interval_ns: int
    """N_CNP: the receiver sends at most one CNP per interval"""
    cut_period_ns: int
    """least time between two cuts"""
    gain: float = 1 / 256
    """g, above 0, below 1"""
    recovery_steps: int = 5
    """F"""
    burst_ns: int = 0
    """a limited sender lets packets out in bursts of about that length; 0: one by one"""


@dataclass(frozen=True, slots=True)
class IrnConfig:
    """IRN on one queue pair, in both roles; `testbed.plan.irn` makes it. Times in ns of the world."""

    rto_low_ns: int = 400_000
    """a packet is sent again that long after the last progress, when few are in flight"""
    rto_high_ns: int = 1_280_000
    """the same wait when more are in flight: their answers show a loss earlier"""
    cap_packets: int = 111
    """PSNs that may be unacknowledged (BDP flow control)"""
    few_packets: int = 3
    """N: packets that still count as few"""
    in_order: bool = True
    """whether packets reach the peer in the order in which they left, except for losses. False where a switch lets
    packets wait for those of other hosts"""


IRN_END_TO_END = ("irn", "irn-rack")
"""recoveries that speak IRN on the wire, and need no support by switches"""
IRN_HELD = "irn-held"
"""recovery that speaks IRN on the wire; switches that sum say what they hold"""
IRN_RECOVERIES = (*IRN_END_TO_END, IRN_HELD)


@dataclass(frozen=True, slots=True)
class QpConfig:
    """One RC queue pair, both roles (requester and responder)."""

    qpn: int
    peer_qpn: int
    envelope: Envelope
    """headers of the packets that this QP sends"""
    first_psn: int
    """first PSN of the requests that this QP sends"""
    peer_first_psn: int
    """first PSN of the requests that it expects"""
    path_mtu: int = 1024
    timeout_code: int = 15
    retry_count: int = 7
    rnr_retry: int = 7
    rnr_timer_code: int = 12
    ack_every: int = 16
    ack_request_every: int = 64
    """AckReq on LAST, ONLY and at least that often (K_ACK)"""
    window_packets: int = 1 << 20
    """unacknowledged PSNs at most"""
    retry7_infinite: bool = False
    """retry_count 7 never ends, as in rdma_rxe"""
    trace: bool = False
    """whether to report every step of the two tables (QpStepped)"""
    dcqcn: DcqcnConfig | None = None
    """None: no congestion control, and no CNPs"""
    recovery: str = "gbn"
    """how losses are repaired, the same at both ends: a name in `workloads.rc.recoveries`"""
    irn: IrnConfig = IrnConfig()
    """settings for a `recovery` of IRN_RECOVERIES"""
    trimming: bool = False
    """whether switches of the network trim: the receiver asks at once for a packet that came without its payload"""

    @property
    def speaks_irn(self) -> bool:
        """Whether its packets and answers are those of IRN, in any variant of the sender."""
        return self.recovery in IRN_RECOVERIES

    def reborn(self, lives: int) -> QpConfig:
        """The queue pair of a process that was restarted `lives` times. It has another number and another first PSN, as
        a device would give it. With the old ones it would accept packets on their way to the old process."""
        if not lives:
            return self
        return replace(
            self,
            qpn=(self.qpn + lives * _QPNS_APART) % _QPNS,
            first_psn=psn_of(self.first_psn + lives * _PSNS_APART),
        )


_QPNS, _QPNS_APART = 1 << 24, 1 << 16
"""a plan takes QPNs below 2^16"""
_PSNS_APART = 5 << 20


ELEMENT_BYTES = 4
"""bytes per element of every type that is summed"""
CHANNEL = "channel"
"""kind of the connections between two ranks of a mesh, which carry messages of any operation"""
PHASE_KINDS = (
    "reduce_scatter", "all_gather", "chain_reduce", "chain_broadcast", "exchange", "swap", "collect", "ready",
)  # fmt: skip
"""kinds of collectives that are phases of others and nothing by themselves"""


@dataclass(frozen=True, slots=True)
class CollectiveConfig:
    kind: str
    """netreduce, ring, shift, or a half of a ring; of a worker with phases the name of its collective; of a phase also
    one of PHASE_KINDS"""
    ring_id: int
    rank: int
    size: int
    """P"""
    arithmetic: ArithmeticSpec = ArithmeticSpec()
    message_packets: int = 170
    window_messages: int = 2
    verb: str = "write"
    """write, send: with immediate both"""
    credit: str = "both"
    hello: bool = True
    peer_base_va: int = 0
    """address at which the successor's receive ring begins (write)"""
    peer_rkey: int = 0
    base_va: int = 0
    """our own receive ring (write)"""
    rkey: int = 0
    receive_late_ns: int = 0
    phase: str = ""
    """name of the phase that this is; empty: the whole collective"""
    pipelined: bool = True
    """a ring passes on each message as soon as it is there; false: step by step"""
    takes_in: int | None = None
    """elements that come from the predecessor; None: as many as the rank sends"""
    kept: tuple[int, int] | None = None
    """(first, number) of the elements of its result that the rank holds in the end; None: all"""
    task: MeshTask | None = unless_default(None)
    """operation of a mesh that runs the same one in every iteration"""


DIGEST_DELAY_NS = 100_000_000
"""real time until the last digest: hashing must not take the processor from peers that still receive"""


@dataclass(frozen=True, slots=True)
class WorkloadConfig:
    kind: str
    """synthetic, extreme, special, digits"""
    seed: int
    elements: int
    iterations: int
    straggle_ns: int = 0
    """this worker starts every iteration that late"""
    arrival_ns: int = 0
    """the job starts that long after the traffic"""
    compute: ComputeConfig | None = None
    """None: gradients are ready at once; the elements of its layers are those of the gradient"""
    digest_delay_ns: int = DIGEST_DELAY_NS
    drawn_ahead: int = 0
    """number of gradients after the first that are drawn before the traffic starts"""
    in_place: bool = False
    """the result takes the place of the gradient, in the memory that packets are read from"""
    given: tuple[int, int] | None = unless_default(None)
    """(first, number) of the elements that this rank gives to a sum; the others travel as zeros. None: all"""
    kept: tuple[int, int] | None = unless_default(None)
    """(first, number) of the elements of the sum that this rank holds in the end; None: all"""


class NodeConfig(Protocol):
    """What worlds ask of a host's configuration, worker or parameter server. `workloads.hosts.create_host` makes the
    Machine for it, which uses its own protocol."""

    @property
    def name(self) -> str:
        """its host's"""
        ...

    def create(self, start_ns: int) -> HostMachine:
        """Its Machine. `start_ns`: when the traffic starts, by the Machine's own clock."""
        ...

    def reborn(self, lives: int) -> NodeConfig:
        """The configuration after `lives` restarts of the process."""
        ...


class HostConfig(NodeConfig, Protocol):
    """What worlds and checkers ask of a worker's configuration, whatever it speaks."""

    @property
    def collective(self) -> GroupShare: ...

    @property
    def group(self) -> int:
        """id of its ring or job: whose gradients are summed with its own"""
        ...

    @property
    def workload(self) -> WorkloadConfig: ...

    @property
    def sends(self) -> tuple[Envelope, ...]:
        """of the packets that carry its gradient away: which links they take"""
        ...

    @property
    def framing(self) -> Framing: ...

    def reborn(self, lives: int) -> HostConfig: ...


@runtime_checkable
class MeshedConfig(Protocol):
    """Of a worker that may have connections with every other rank next to its collective. False, as a truth value:
    there are none."""

    @property
    def mesh(self) -> object: ...


@dataclass(frozen=True, slots=True)
class PhaseConfig:
    """One of several collectives that a worker runs one after the other: a ring, queue pairs and a part of the gradient
    of its own."""

    to_successor: QpConfig
    from_predecessor: QpConfig
    collective: CollectiveConfig
    """rank and size are those in this ring"""
    first_element: int
    elements: int
    """number of elements that the worker sends, and takes in unless its collective's `takes_in` says otherwise"""
    step: int
    """phases of one step, which follow one another, run together; the same on all workers"""
    waits_for_acks: bool = True
    """whether the phase waits until the worker's messages of the step before are acknowledged; False: only until its
    data is there"""
    compute_ns: int = 0
    """time that the worker computes before the phase begins, where the collective has stages"""
    apart: bool = False
    """whether the phase has elements of its own: it begins from the worker's own values, not from the results of phases
    before. The same in all phases of a worker"""
    into_element: int | None = None
    """first element of the result that the phase fills; None: `first_element`"""

    @property
    def filled(self) -> slice:
        """Elements of the result that the phase fills."""
        first = self.first_element if self.into_element is None else self.into_element
        number = self.elements if self.collective.takes_in is None else self.collective.takes_in
        return slice(first, first + number)


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A HostConfig whose collective runs over RC queue pairs, on each of its rings one to its successor and one from
    its predecessor."""

    name: str
    to_successor: QpConfig
    """connection to the successor; that of the first phase, where there are phases"""
    from_predecessor: QpConfig
    collective: CollectiveConfig
    """rank and size are those in the job"""
    workload: WorkloadConfig
    fallback: WorkerConfig | None = None
    """who does the job, from its beginning, when the connections of this one die; with queue pairs of its own"""
    phases: tuple[PhaseConfig, ...] = ()
    """phases of the collective, in their order; empty: one ring over all workers"""
    mesh: tuple[PhaseConfig, ...] = unless_default(())
    """connections with every other rank, in rank order, for operations that the collective does not run"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads import create_worker  # whose module knows this configuration

        return create_worker(self, start_ns)

    @property
    def transport(self) -> ReliableTransport:
        """What its queue pairs are of."""
        from workloads.rc import RELIABLE

        return RELIABLE

    @property
    def is_mesh(self) -> bool:
        """Whether it is a mesh alone, whose iterations bring their tasks."""
        return bool(self.phases) and self.phases[0].collective.kind == CHANNEL and self.collective.task is None

    @property
    def parts(self) -> tuple[WorkerConfig, ...]:
        """What this worker does on each of its rings, as if it did nothing else: itself, or one for each phase."""
        return self._as_workers(self.phases) or (self,)

    @property
    def all_parts(self) -> tuple[WorkerConfig, ...]:
        """The same, and what it does on its connections of the mesh."""
        return (*self.parts, *self._as_workers(self.mesh))

    @property
    def queue_pairs(self) -> tuple[QpConfig, ...]:
        return tuple(qp for part in self.all_parts for qp in (part.to_successor, part.from_predecessor))

    def _as_workers(self, phases: tuple[PhaseConfig, ...]) -> tuple[WorkerConfig, ...]:
        return tuple(
            WorkerConfig(
                self.name,
                phase.to_successor,
                phase.from_predecessor,
                phase.collective,
                replace(self.workload, elements=phase.elements),
            )
            for phase in phases
        )

    @property
    def group(self) -> int:
        return self.collective.ring_id

    @property
    def sends(self) -> tuple[Envelope, ...]:
        return tuple(part.to_successor.envelope for part in self.parts)

    @property
    def framing(self) -> Framing:
        payload = self.to_successor.path_mtu
        return Framing(payload, EMPTY_FRAME_BYTES + payload)

    def reborn(self, lives: int) -> WorkerConfig:
        """The configuration after `lives` restarts of the worker's process. Its peers still name the old queue pairs,
        so it reaches no peer and the job ends with RETRY_EXC. Rings are installed for queue pairs, not hosts (protocol
        text, section 5, row 13)."""
        if not lives:
            return self
        phases, mesh = (
            tuple(
                replace(p, to_successor=p.to_successor.reborn(lives), from_predecessor=p.from_predecessor.reborn(lives))
                for p in each
            )
            for each in (self.phases, self.mesh)
        )
        return replace(
            self,
            to_successor=self.to_successor.reborn(lives),
            from_predecessor=self.from_predecessor.reborn(lives),
            fallback=None if self.fallback is None else self.fallback.reborn(lives),
            phases=phases,
            mesh=mesh,
        )

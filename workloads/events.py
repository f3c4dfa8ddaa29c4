"""Facts that RC endpoints, collectives and workers report. Each becomes one record of the history."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = [
    "CnpSent",
    "CollectiveCompleted",
    "CollectiveStarted",
    "CongestionStatistics",
    "DatagramResent",
    "DatagramStatistics",
    "FlowReceived",
    "FlowSent",
    "FrameRejected",
    "GradientComputed",
    "MessageAcked",
    "MessagePosted",
    "MessageReceived",
    "NakSent",
    "NicCounters",
    "PhaseCompleted",
    "PhaseStarted",
    "QpFailed",
    "QpStepped",
    "RateChanged",
    "RcStatistics",
    "Retransmission",
    "RnrNakSent",
    "TrainingProgress",
    "TrimmedCame",
    "WorkerFailed",
    "WorkerFellBack",
    "WorkerFinished",
]


@dataclass(frozen=True, slots=True)
class QpFailed(Event):
    """A queue pair went to ERROR; its outstanding work is flushed."""

    qpn: int
    status: str
    """RETRY_EXC, RNR_RETRY_EXC, REM_INV_REQ, REM_ACCESS, REM_OP, LOC_LEN"""
    psn: int
    """oldest unacknowledged PSN"""
    detail: str
    """text for a person: what was tried, how often, and towards which peer"""


@dataclass(frozen=True, slots=True)
class QpStepped(Event):
    """A half of a queue pair looked into its table (`QpConfig.trace`). It follows the events of the step itself."""

    qpn: int
    side: str
    """requester, responder"""
    state: str
    """state before the step; names as in the table, in lower case"""
    cause: str
    """event of the table"""
    next: str
    """state behind the step, which may be the same"""
    psn: int
    """behind the step: of a requester the oldest unacknowledged PSN, of a responder the expected one"""


@dataclass(frozen=True, slots=True)
class Retransmission(Event):
    """A requester went back."""

    qpn: int
    cause: str
    """nak, timeout, rnr; trimmed: an answer of IRN said that it came without its payload"""
    psn: int
    """first PSN that is sent again"""
    packets: int
    """how many sent PSNs are behind it"""
    waited_ns: int | None = None
    """time since the queue pair last made progress, of a timeout; None: another cause"""
    resent_before: int | None = unless_default(None)
    """packets that the queue pair had sent again before, in all go-backs together (go-back-N); None: each event is one
    packet that leaves again"""


@dataclass(frozen=True, slots=True)
class NakSent(Event):
    """A responder saw a gap, or refused a request."""

    qpn: int
    syndrome: int
    psn: int
    """expected PSN"""


@dataclass(frozen=True, slots=True)
class TrimmedCame(Event):
    """A responder got the headers of a packet that a full queue had cut."""

    qpn: int
    psn: int
    """PSN of that packet"""


@dataclass(frozen=True, slots=True)
class RnrNakSent(Event):
    """A responder had no receive posted."""

    qpn: int
    psn: int


@dataclass(frozen=True, slots=True)
class FrameRejected(Event):
    """A frame for us that we could not use."""

    reason: str
    """icrc, malformed, unknown_qp, bad_ack, ..."""
    detail: str


@dataclass(frozen=True, slots=True)
class RcStatistics(Event):
    """Counters of one queue pair since it was made; reported when the worker stops."""

    qpn: int
    packets_sent: int
    """request packets, retransmissions included"""
    packets_retransmitted: int
    packets_received: int
    """request packets accepted in order"""
    duplicates_received: int
    acks_sent: int
    acks_received: int
    naks_sent: int
    naks_received: int
    rnr_naks_received: int
    timeouts: int
    icrc_errors: int
    cnps_received: int = 0
    """congestion notifications; acted upon with DCQCN only"""


@dataclass(frozen=True, slots=True)
class CnpSent(Event):
    """A receiver with DCQCN informs its sender that a data packet came with CE."""

    qpn: int
    psn: int
    """PSN of the packet"""


@dataclass(frozen=True, slots=True)
class RateChanged(Event):
    """The reaction point of DCQCN set another rate."""

    qpn: int
    cause: str
    """cnp, timer, bytes"""
    state: str
    """behind the step: line_rate, recovery, additive, hyper"""
    rate_bps: int
    """rate of Ethernet frames"""
    target_bps: int
    alpha: float
    """alpha after the last CNP"""


@dataclass(frozen=True, slots=True)
class CongestionStatistics(Event):
    """Counters of one queue pair with DCQCN, reported with its RcStatistics."""

    qpn: int
    marked_received: int
    """data packets that came with CE"""
    cnps_sent: int
    cnps_received: int
    cuts: int
    """cuts of the rate"""


@dataclass(frozen=True, slots=True)
class FlowSent(Event):
    """What the source of a background flow did; reported when its host stops."""

    flow: str
    packets: int
    bytes: int
    """bytes of payload"""
    skipped: int
    """datagrams that were due and never sent: the host was busy or its link taken for too long"""


@dataclass(frozen=True, slots=True)
class FlowReceived(Event):
    """What arrived of a background flow; reported when its host stops."""

    flow: str
    packets: int
    """0 where they are not known (TCP)"""
    bytes: int
    """bytes of payload"""
    marked: int
    """packets with CE"""
    first_ns: int
    """time of the first packet; `last_ns`: of the last one"""
    last_ns: int


@dataclass(frozen=True, slots=True)
class DatagramResent(Event):
    """A worker of a datagram protocol sent a packet again."""

    job: int
    block: int
    """number of the packet in the job, from 0"""
    slot: int
    cause: str
    """timeout; of ATP and ESA also gap (a later result came) and nack (the server asked); of GRID also rate (no slot
    was free), replanned"""
    attempt: int
    """1: its first repetition"""
    waited_ns: int | None = None
    """time since the host last made progress: a result or an acknowledgement came, or a packet left for the first time;
    None: the host does not report it"""


@dataclass(frozen=True, slots=True)
class DatagramStatistics(Event):
    """Counters of one worker of a datagram protocol since it was made; reported when it stops."""

    job: int
    packets_sent: int
    """repetitions included"""
    packets_retransmitted: int
    results_received: int
    """results that the worker waited for"""
    duplicates_received: int
    """results that were there already, or of a packet that is none of ours"""
    timeouts: int
    rejected: int
    """damaged or contradicting datagrams"""


@dataclass(frozen=True, slots=True)
class NicCounters(Event):
    """What the port of an RDMA device counted while a worker used it; reported when the worker stops."""

    device: str
    counters: dict[str, int]
    """differences, by the names of the kernel (`hw_counters`); empty where it has none"""


@dataclass(frozen=True, slots=True)
class CollectiveStarted(Event):
    iteration: int
    bytes: int
    messages: int
    operation: str = unless_default("")
    """operation of a mesh next to the job's collective; empty: the job's collective runs"""


@dataclass(frozen=True, slots=True)
class PhaseStarted(Event):
    """A worker began a phase of a hierarchical collective."""

    iteration: int
    phase: str
    bytes: int
    """bytes that the phase works on"""
    messages: int
    """messages that this worker sends in it"""


@dataclass(frozen=True, slots=True)
class PhaseCompleted(Event):
    """This worker holds what the phase gives it; its own messages may still be on their way."""

    iteration: int
    phase: str


@dataclass(frozen=True, slots=True)
class GradientComputed(Event):
    """The backward pass of an iteration is over, at a worker that computes layer by layer."""

    iteration: int
    forward_ns: int
    """start of the forward pass"""
    backward_ns: int
    """start of the backward pass"""
    ready_ns: int
    """time when its last gradient was ready; the event comes no earlier, perhaps later"""


@dataclass(frozen=True, slots=True)
class MessagePosted(Event):
    """The credit window let a message go."""

    message: int
    received: int
    """results completely received so far (counting messages from 0)"""
    acked: int
    """own messages acknowledged so far"""
    phase: str = unless_default("")
    """phase of a hierarchical collective; empty: there is but one"""


@dataclass(frozen=True, slots=True)
class MessageReceived(Event):
    """A result arrived completely and in order."""

    message: int
    crc32: int
    """checksum of its elements' bytes (INA header excluded)"""
    phase: str = unless_default("")
    """phase of a hierarchical collective; empty: there is but one"""


@dataclass(frozen=True, slots=True)
class MessageAcked(Event):
    message: int
    phase: str = unless_default("")
    """phase of a hierarchical collective; empty: there is but one"""


@dataclass(frozen=True, slots=True)
class CollectiveCompleted(Event):
    """This worker holds the whole result of one iteration."""

    iteration: int
    sha256: str
    """digest of the result's bytes, elements little-endian"""
    bytes: int
    completed_ns: int
    """time when the last byte was there; the digest is computed later, off the clock"""


@dataclass(frozen=True, slots=True)
class TrainingProgress(Event):
    iteration: int
    loss: float
    accuracy: float
    """accuracy on held-out data, 0..1"""


@dataclass(frozen=True, slots=True)
class WorkerFinished(Event):
    """All iterations are done; the worker still answers its peers."""

    iterations: int


@dataclass(frozen=True, slots=True)
class WorkerFailed(Event):
    """The job cannot continue."""

    reason: str
    """reason as in QpFailed.status, or bad_result (a result's INA header is not the expected one)"""
    detail: str


@dataclass(frozen=True, slots=True)
class WorkerFellBack(Event):
    """The worker restarts the job with another protocol and other queue pairs. Its earlier events no longer count."""

    reason: str
    """RETRY_EXC: a path is dead; peer: a neighbour fell back before"""
    detail: str
    protocol: str
    """the one that it falls back to"""

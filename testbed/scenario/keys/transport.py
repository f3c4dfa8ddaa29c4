"""`transport`: the hosts' connections, and how datagrams travel."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from testbed.reading.fields import (
    BoolKey,
    DurationKey,
    ScaledDurationKey,
    ScaledRateKey,
    ScaledSizeKey,
    SpanKey,
    choice,
    number_or_auto,
    share,
    whole,
    whole_or,
)
from testbed.reading.sections import Key, Section
from testbed.scenario.protocols import names
from testbed.scenario.protocols.owned_keys import only, takes
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.config import IRN_RECOVERIES
from workloads.errors import InternalError
from workloads.rc.numbers import LAST_PSN
from workloads.uc.config import MOST_UC_PACKETS

__all__ = ["DcqcnOptions", "Transport"]

_OVER_ROCE = only(lambda protocol: protocol.repairs_losses(), "has no reliable RoCE connections", "over RoCE")
_SLOWED = only(lambda protocol: protocol.repairs_losses(), "has no RoCE connections to slow down", "over RoCE")
_WITH_PSNS = only(
    lambda protocol: protocol.repairs_losses() or len(protocol.framings()) > 1,
    "sends no packets with PSNs",
    "over RoCE, and `switchml`",
)
_IN_DATAGRAMS = only(lambda protocol: not protocol.repairs_losses(), "sends no datagrams that it would repeat")
_FRAMED = only(lambda protocol: len(protocol.framings()) > 1, "has one framing")
_MARKED = takes(KeyGroup.MARKS, "has no such window")


@dataclass(frozen=True, slots=True)
class DcqcnOptions(Section):
    """Parameters of DCQCN. `scaled`: from the published ones and the rate of the sender's link
    (`testbed.plan.congestion`)."""

    time_scale: Annotated[float | None, number_or_auto(1e-6, 1e6)] = None
    """by how much slower than published everything happens; `auto`: as the sender's link is slower than 40 Gbit/s. A
    number of one's own stretches the timers and the byte counter"""
    gain: Annotated[float | None, share(), Key(shown="1/256")] = None
    """weight of a new mark in alpha"""
    alpha_timer_ns: ScaledDurationKey = None
    """without a CNP for that long, alpha falls"""
    increase_timer_ns: ScaledDurationKey = None
    """the rate rises once in that time"""
    byte_counter_bytes: ScaledSizeKey = None
    """and once after that many bytes"""
    cnp_interval_ns: ScaledDurationKey = None
    """a receiver sends at most one CNP per connection in that time"""
    cut_period_ns: ScaledDurationKey = None
    """a sender cuts its rate at most once in that time"""
    additive_bps: Annotated[ScaledRateKey, Key("additive_increase")] = None
    """by which the target rate rises"""
    hyper_bps: Annotated[ScaledRateKey, Key("hyper_increase")] = None
    """the same, when timer and byte counter have both passed `recovery_steps`"""
    min_rate_bps: ScaledRateKey = None
    """no cut goes below it"""
    burst_ns: ScaledDurationKey = None
    """a limited sender lets packets out in bursts of that length, so that a real machine need not wake up for each"""
    recovery_steps: Annotated[int | None, whole(1, 1000), Key(shown="5; `hpcc`, `conweave`: 1")] = None
    """F: so many rises towards the rate before the cut, then above it"""
    preset: Annotated[str, choice(names.DCQCN_PRESETS)] = "paper"
    """published set from which all other keys come: `paper`, `hpcc` or `conweave`
    ([values](congestion.md#time-scale))"""


@dataclass(frozen=True, slots=True)
class Transport(Section):
    """RC endpoints (workloads.rc), and how datagrams of other protocols travel."""

    path_mtu: Annotated[int, choice(names.PATH_MTUS), Key(title="Path MTU (B)")] = 1024
    """payload bytes of a full packet: 256, 512, 1024, 2048, 4096 (`switchml`, `atp`, `esa`: at most 1024; `grid`: also
    8192)"""
    verb: Annotated[str, _OVER_ROCE, choice(names.VERBS)] = "write"
    """`write`: RDMA WRITE with immediate; `send`: SEND with immediate"""
    recovery: Annotated[str, _OVER_ROCE, choice(names.RECOVERIES), Key(title="Loss recovery")] = "gbn"
    """recovery of lost packets on RC connections: `gbn`, go-back-N; `irn`, only lost packets are resent; `irn-rack`,
    the same, and an overtaken packet does not count as lost; `irn-held`, switches that sum say what they hold
    ([IRN](irn.md))"""
    timeout_code: Annotated[
        int | None,
        _OVER_ROCE,
        whole_or("auto", None, 0, 31, " (4.096 us x 2^n; 0: never)"),
        Key("timeout", title="Code of the retransmission timer"),
    ] = None
    """retransmission timer code n: 4.096 us x 2^n. 12 = 17 ms, 13 = 34 ms, 14 = 67 ms, 15 = 134 ms; 0: never. `auto`:
    from the [worst round trip](scenario.md#timers)"""
    retry_count: Annotated[int, _OVER_ROCE, whole(0, 7)] = 7
    """0 to 7. After retry_count + 1 timeouts without progress the queue pair fails with RETRY_EXC"""
    rnr_retry: Annotated[int, _OVER_ROCE, whole(0, 7, " (7: for ever)")] = 7
    """0 to 7; 7: for ever"""
    rnr_timer_code: Annotated[int, _OVER_ROCE, whole(0, 31), Key("rnr_timer")] = 12
    """code of the wait that an RNR NAK asks for: 12 = 0.64 ms, 16 = 2.56 ms, 20 = 10.24 ms"""
    ack_every: Annotated[int, _OVER_ROCE, whole(1, 1024)] = 16
    """an ACK after that many packets, asked for or not"""
    start_psn: Annotated[int | None, _WITH_PSNS, whole_or("random", None, 0, LAST_PSN)] = None
    """first packet number of every connection, 0 to 0xffffff; `random`: from the seed, one per connection"""
    receive_late_ns: Annotated[DurationKey, _OVER_ROCE] = 0
    """receive buffers are posted that late: provokes RNR NAKs"""
    rto_low_ns: Annotated[SpanKey, _OVER_ROCE] = None
    """IRN: a sender repeats its oldest packet that long after its last progress. `auto`: from the
    [round trips](scenario.md#timers)"""
    rto_high_ns: Annotated[SpanKey, _OVER_ROCE] = None
    """IRN: the same while more than three packets are under way. `auto`: at most 3.2 times `rto_low`"""
    rto_ns: Annotated[SpanKey, _IN_DATAGRAMS, Key(title="Retransmission timeout")] = None
    """time after which a packet without a result is sent again, or four typical round trips if that is longer. `auto`,
    from the [worst round trip](scenario.md#timers), or at least `10us`. `esa` and `grid` wait twice as long while
    nothing answers"""
    framing: Annotated[str, _FRAMED, choice(names.FRAMINGS)] = "udp"
    """`udp`, datagrams of our own format; `uc`, RDMA WRITE with immediate over RoCE v2 unreliable
    connections ([SwitchML](switchml.md#over-unreliable-connections))"""
    uc_packets: Annotated[int, _FRAMED, whole(1, MOST_UC_PACKETS, " (packets of a message)")] = 1
    """`framing: uc`: packets of a full message, 1 to 16. A message is what SwitchML calls a packet: it takes one slot,
    and is repeated whole"""
    aimd: Annotated[BoolKey, _MARKED] = True
    """a mark (links with `ecn_threshold`) halves a worker's window, a window without one adds a packet"""
    congestion_control: Annotated[str, _SLOWED, choice(names.CONGESTION_CONTROLS)] = "none"
    """`dcqcn`: receivers answer CE marks with CNPs, senders cut their rates ([congestion](congestion.md))"""
    dcqcn: Annotated[DcqcnOptions, _SLOWED, Key(shown="scaled")] = DcqcnOptions()
    """its parameters: [table](congestion.md#time-scale)"""

    @property
    def speaks_irn(self) -> bool:
        """As `QpConfig.speaks_irn`."""
        return self.recovery in IRN_RECOVERIES

    @property
    def chosen_timeout_code(self) -> int:
        """`timeout_code` of the scenario of a plan. Raises InternalError while it is `auto`."""
        return _chosen("timeout", self.timeout_code)

    @property
    def chosen_rto_ns(self) -> int:
        """`rto_ns` of the scenario of a plan. Raises InternalError while it is `auto`."""
        return _chosen("rto", self.rto_ns)

    @property
    def chosen_irn_ns(self) -> tuple[int, int]:
        """`rto_low_ns` and `rto_high_ns` of the scenario of a plan. Raises InternalError while one is `auto`."""
        return _chosen("rto_low", self.rto_low_ns), _chosen("rto_high", self.rto_high_ns)

    def left_out(self) -> Collection[str]:
        """Parameters without a reader: those of DCQCN and of IRN where a scenario uses neither. A value that a file
        gives stays."""
        found = []
        if self.congestion_control != "dcqcn" and self.dcqcn == DcqcnOptions():
            found.append("dcqcn")
        if not self.speaks_irn:
            found += [name for name in ("rto_low_ns", "rto_high_ns") if getattr(self, name) is None]
        return found


def _chosen(key: str, value: int | None) -> int:
    if value is None:
        raise InternalError(f"transport.{key} is auto, and testbed.plan.timers did not choose it")
    return value

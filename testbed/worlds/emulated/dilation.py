"""Time dilation at the edges of the emulated world: the kernel's settings, and what cannot be dilated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from switch_nodes.dataplane.clock import EmulatedClock
from switch_nodes.dataplane.pacing import AHEAD_NS
from testbed.kernel.shaping import burst_bytes
from testbed.plan import Plan
from testbed.plan.paths import data_volumes
from testbed.plan.time_need import time_need
from testbed.scenario.lossless import SLACK_NS
from testbed.scenario.model import Scenario
from topologies import Direction, Link
from workloads.errors import ScenarioError

__all__ = [
    "LEAST_RATE_BPS",
    "KernelShape",
    "clock_of",
    "exact_dilation",
    "is_exact",
    "kernel_shape",
    "lossless_dilation",
    "most_dilation",
    "not_dilated",
    "refuse_dilation",
    "slack_ns",
]

_EXACT_S = 0.5e-3
"""real time that a frame must take on the fastest link that data pass"""
_EXACT_FULL_PER_S = 4_000
"""frames that enter all links of a run at one end in a real second, at most: wake-ups take a part of two processors"""
_EXACT_AVERAGE_PER_S = 1_000
"""the same on average over a run: frames come in bursts"""
_PFC_FRAME_S = 4e-3
"""real time that a full frame must take on every link with PFC. A pause that comes late by the waits of four processes
for a processor then costs less than the frame that the exact headroom has in reserve in most phases"""
LEAST_RATE_BPS = 8_000
"""of a link in real time: the kernel keeps whole bytes per second, which is 0.1 % of that. A slower link is kept as
well where what is left over is as little"""
_LEAST_WHOLE_BPS = 1_000
"""of such a slower link: a frame takes seconds there"""
_SECOND_BITS = 8 * 10**9
_BURST_NS = 4_000_000
"""real time: what a busy machine may be late and make good. Dilation makes it shorter in emulated time"""
_EXACT_BURST_NS = 1_000_000
"""the same where ports keep the account of their wires. Two frames that pass at once after an idle moment would shorten
the queue by their time until it is empty. Answers that wait behind it would come too early"""
_AHEAD_NS = 2_000_000
"""real time: a NIC that holds less would leave its link idle when it is woken late; it never holds more than a real
NIC"""


@dataclass(frozen=True, slots=True)
class KernelShape:
    """One direction of a link as the kernel keeps it."""

    rate_bps: int
    burst_bytes: int
    emulated_bps: int
    """what `rate_bps` is in emulated time: the kernel keeps whole bytes per second"""
    ahead_ns: int
    """emulated time: what a host's NIC on it holds at most, in addition to one frame"""


def clock_of(scenario: Scenario) -> EmulatedClock:
    """The clock of a process of a run. Raises ScenarioError where the factor is still to be chosen."""
    if scenario.dilation is None:
        raise ScenarioError(
            "the factor is not chosen yet", key="dilation", found="auto",
            allowed="a whole number; `tb run` and testbed.runs.run.run_scenario choose",
        )  # fmt: skip
    return EmulatedClock(scenario.dilation)


def kernel_shape(clock: EmulatedClock, rate_bps: int, mtu: int, *, exact: bool) -> KernelShape:
    """Of a link of `rate_bps` in emulated time. HTB lets a burst pass at once: as little as a busy machine allows, so
    that frames come when they do on a wire. `exact`: as `is_exact`, where frames may wait in front of the link, which
    is behind switches."""
    real_bps = clock.real_bps(rate_bps) // 8 * 8
    less_than_a_frame = max(1, real_bps * _EXACT_BURST_NS // _SECOND_BITS)
    burst = less_than_a_frame if exact else burst_bytes(real_bps, mtu, _BURST_NS)
    ahead_ns = min(AHEAD_NS, clock.emulated(_AHEAD_NS))
    return KernelShape(real_bps, burst, clock.real(real_bps), ahead_ns)


def exact_dilation(plan: Plan) -> int:
    """The smallest factor at which frames take so long in real time that every port can keep the account of its wires
    frame by frame. Each node is then woken for each of its frames. So they must be few enough even if all links were
    full, or few on average over the least time that the plan takes."""
    topology, volumes = plan.scenario.topology, data_volumes(plan)
    frame_bytes = plan.least_frame_bytes
    used = {name for name, _ in volumes}
    fastest_per_s = max(link.shape.rate_bps for link in topology.links if link.name in used) / (8 * frame_bytes)
    least_s = time_need(plan).least_s
    average_per_s = sum(volumes.values()) / len(Direction) / frame_bytes / least_s if least_s else 0.0  # empty vectors
    wake_ups = min(fastest_per_s * len(topology.links) / _EXACT_FULL_PER_S, average_per_s / _EXACT_AVERAGE_PER_S)
    return max(math.ceil(_EXACT_S * fastest_per_s), math.ceil(wake_ups))


def lossless_dilation(plan: Plan) -> int:
    """The smallest factor for a plan with PFC: nodes keep the account of their wires, and are late by a small part of
    a frame."""
    per_s = max(link.shape.rate_bps for link in plan.scenario.topology.links) / (8 * plan.least_frame_bytes)
    return max(exact_dilation(plan), math.ceil(_PFC_FRAME_S * per_s))


def slack_ns(clock: EmulatedClock) -> int:
    """Emulated time that a node with PFC may be late and make good."""
    return clock.emulated(SLACK_NS)


def is_exact(plan: Plan) -> bool:
    return clock_of(plan.scenario).dilation >= exact_dilation(plan)


def most_dilation(plan: Plan) -> int:
    """The largest factor at which the kernel keeps the rates of a plan exactly."""
    return max(1, min(map(_rate_bps, plan.scenario.topology.links)) // LEAST_RATE_BPS)


def refuse_dilation(plan: Plan) -> None:
    """Raises ScenarioError for what lives by the machine's time alone, and for links that the kernel could not keep so
    slow."""
    scenario = plan.scenario
    clock = clock_of(scenario)
    if scenario.pfc is not None and clock.dilation < (least := lossless_dilation(plan)):
        raise ScenarioError(
            f"with PFC a frame must take {1000 * _PFC_FRAME_S:g} ms of real time, so that pauses come in time",
            key="dilation", found=str(clock.dilation), allowed=f"{least} or more; auto",
        )  # fmt: skip
    if clock.dilation == 1:
        return
    for host, device in scenario.nics:
        raise ScenarioError(
            f"{host} is on the RDMA device {device}, which keeps its own time (nics.{host})",
            key="dilation", found=str(clock.dilation), allowed=f"1, or nics.{host}: soft",
        )  # fmt: skip
    slow = min(scenario.topology.links, key=_rate_bps)
    if not _is_kept(_rate_bps(slow), clock.dilation):
        raise ScenarioError(
            f"link {slow.name} would have {_rate_bps(slow) / clock.dilation:,.0f} bit/s in real time; the kernel keeps "
            f"{LEAST_RATE_BPS:,} or more exactly",
            key="dilation", found=str(clock.dilation),
            allowed=f"at most {most_dilation(plan)} with this link, or one that leaves it whole bytes per second",
        )  # fmt: skip


def _is_kept(rate_bps: int, dilation: int) -> bool:
    """Whether the kernel keeps the rate of a link, within 0.1 %."""
    left_over = rate_bps % (8 * dilation)
    return left_over * 1_000 <= rate_bps and rate_bps >= _LEAST_WHOLE_BPS * dilation


def _rate_bps(link: Link) -> int:
    return link.shape.rate_bps


def not_dilated(plan: Plan, openflow: frozenset[str] | set[str]) -> tuple[str, ...]:
    """What of a dilated run lives by the machine's time all the same, in words. `openflow`: its Open vSwitches."""
    if plan.scenario.dilation in (None, 1):
        return ()
    found = [
        f"background flow {flow.config.name}: the kernel's TCP and its timers"
        for flow in plan.background
        if flow.kind == "tcp"
    ]
    if openflow:
        found.append(f"Open vSwitch ({', '.join(sorted(openflow))}) and its controller")
    return tuple(found)

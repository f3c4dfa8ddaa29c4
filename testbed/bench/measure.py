"""One measured run of one scenario in the emulated world."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from switch_nodes.events import PlaneStatistics
from testbed.comparison.figures import Figure
from testbed.history import Record, of_kind
from testbed.kernel.scratch import scratch
from testbed.runs.run import run_scenario
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.scenario.protocols.known import protocol_of
from topologies import LinkShape, rack
from workloads.errors import InternalError

__all__ = ["Measurement", "ToldRun", "allreduce_scenario", "conditions", "measure"]

_RESULT_S = 0.04
"""time from the last byte of a message sent to its result received, with a scheduler in between that has little time to
give"""


@dataclass(frozen=True, slots=True)
class ToldRun:
    """The conditions under which the figures of a run hold."""

    dilation: int = 1
    deviation: float | None = None
    """deviation of the JCT from that of the same plan in virtual time; None: they were not compared"""

    @classmethod
    def of_figures(cls, found: Mapping[str, Figure]) -> ToldRun:
        """`found`: of a sweep, with those of `conditions`."""
        deviation = found.get("twin.deviation")
        return cls(int(found.get("dilation") or 1), None if deviation is None else float(deviation))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ToldRun:
        """`document`: a result.json."""
        return cls(
            (document.get("dilation") or {"factor": 1})["factor"],
            (document.get("twin") or {"deviation": None})["deviation"],
        )


def conditions(scenario: Scenario, history: Sequence[Record], document: Mapping[str, Any]) -> dict[str, Figure]:
    """`Point.measure` of runs in real time: the figures of `ToldRun`."""
    told = ToldRun.of(document)
    return {"dilation": told.dilation, "twin.deviation": told.deviation}


@dataclass(frozen=True, slots=True)
class Measurement:
    jct_s: float
    goodput_bps: float
    bound_bps: float
    fidelity: str
    reasons: tuple[str, ...]
    worker_peak_bytes: int
    busiest: str
    """node with the largest share of a core, and the share"""
    dilation: int = 1
    deviation: float | None = None
    """deviation of the JCT, from that of the same plan in virtual time"""
    struck: int = 0
    """packets that faults met"""


def allreduce_scenario(
    protocol: str, hosts: int, rate_bps: int, path_mtu: int, size_bytes: int, seed: int, dilation: int | None = 1
) -> Scenario:
    """A lossless rack, captures off. `dilation`: None leaves it to the machine."""
    mtu = 1500 if path_mtu <= 1024 else 9000
    shape = LinkShape(rate_bps=rate_bps, mtu=mtu)
    return Scenario(
        name=f"bench-{protocol}-{hosts}",
        topology=rack(hosts, shape),
        link=shape,
        seed=seed,
        transport=Transport(path_mtu=path_mtu, timeout_code=18, ack_every=64),
        switch=SwitchOptions(program=protocol_of(protocol).programs[0]),
        job=Job(protocol=protocol, size_bytes=size_bytes, window_messages=_window_messages(rate_bps, path_mtu)),
        capture=False,
        dilation=dilation,
        time_limit_ns=120_000_000_000,
    )


def _window_messages(rate_bps: int, path_mtu: int) -> int:
    """N by the knee of the credit window: sending N-1 messages must take at least as long as a result
    takes to come back. On a busy machine that time depends on its scheduler, not on the links."""
    message_s = 170 * (path_mtu + 58) * 8 / rate_bps
    return 1 + max(1, math.ceil(_RESULT_S / message_s))


def measure(scenario: Scenario) -> Measurement:
    """Raises InternalError when the run's sums are not right: a fast wrong answer is no measurement."""
    with scratch() as folder:
        result = run_scenario(scenario, folder / "run")
    document = result.document
    wrong = [c for c in document["checks"] if c["verdict"] == "fail"]
    if wrong:
        raise InternalError(f"{scenario.name}: {wrong[0]['name']} failed: {wrong[0]['detail']}")
    fidelity, told = document["fidelity"], ToldRun.of(document)
    # Figures that the run itself does not trust stand apart; here they are shown, with the verdict on their fidelity.
    metrics = document["metrics"] | (document["metrics"].get("unreliable") or {})
    planes = of_kind(result.history, PlaneStatistics)
    workers = [plane for plane in planes if plane.node != "s1"]
    busiest = max(planes, key=lambda plane: plane.event.cpu_ns / max(1, plane.event.wall_ns))
    return Measurement(
        jct_s=metrics["jct_s"],
        goodput_bps=metrics["goodput_bps"],
        bound_bps=metrics["bound_bps"],
        fidelity=fidelity["verdict"],
        reasons=tuple(fidelity["reasons"]),
        worker_peak_bytes=max((plane.event.peak_rss_bytes for plane in workers), default=0),
        busiest=f"{busiest.node} {busiest.event.cpu_ns / max(1, busiest.event.wall_ns):.0%} of a core",
        dilation=told.dilation,
        deviation=told.deviation,
        struck=sum(fault["strikes"] for fault in document.get("faults", ())),
    )

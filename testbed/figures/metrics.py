"""Figures of a run, from its history alone. A figure that cannot be determined is None."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from switch_nodes.events import MessageInferred, PacketIgnored, ResultReplayed, SlotsAtEnd
from testbed.checkers.context import CheckContext
from testbed.checkers.contract import judged_protocol
from testbed.checkers.parts import parts_of
from testbed.checkers.reference import workers_in
from testbed.checkers.refused import refused_results
from testbed.checkers.twins import OF_JOB, Figures
from testbed.faults.events import FaultMissed, FaultStruck
from testbed.faults.healing import windows_of
from testbed.faults.model import Corrupt, is_silent
from testbed.figures.bandwidth import bandwidths, link_metrics
from testbed.figures.congestion import background_metrics, congestion_metrics
from testbed.figures.extent import end_of_job
from testbed.figures.jobs import job_metrics, without_performance
from testbed.figures.percentiles import iteration_times, message_times
from testbed.figures.pfc import pfc_metrics
from testbed.figures.queues import queue_metrics
from testbed.figures.recovery import routing_metrics
from testbed.figures.sampled import sampled_metrics
from testbed.figures.samples import samples_of, samples_per_second
from testbed.figures.slots import slot_occupancy
from testbed.figures.timers import timer_metrics
from testbed.figures.traces import trace_metrics
from testbed.history import Record
from testbed.history.events import FaultByChance, TrafficStarted
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan.contract import planned_protocol
from testbed.plan.paths import data_flows
from testbed.scenario.protocols.own_code import require
from testbed.scenario.transports import transports_of
from topologies import format_ip
from workloads.collectives.operations import OPERATIONS
from workloads.datagrams.blocks import BlockReplayed, ContributionIgnored, MemoryAtEnd
from workloads.events import (
    CollectiveCompleted,
    CollectiveStarted,
    DatagramResent,
    DatagramStatistics,
    FrameRejected,
    NakSent,
    RcStatistics,
    Retransmission,
    RnrNakSent,
    TrainingProgress,
)
from workloads.ownvalues import Allowed
from workloads.rc.words import carried_by

__all__ = ["PERFORMANCE", "bound_bps", "fault_table", "figures_of", "metrics", "withhold"]

PERFORMANCE = ("jct_s", "iterations_s", "goodput_bps", "algbw_bps", "busbw_bps", "samples_per_second")
"""metrics that mean nothing when the machine had too little CPU time"""
_TIMES = ("jct", "iteration_times", "message_times")
"""groups of figures that mean nothing then, either"""
_BOUND = Allowed("a finite number above 0", lambda found: type(found) in (int, float) and 0 < found < math.inf)
_FIGURES = Allowed("a mapping of figures by name", lambda found: isinstance(found, Mapping))
_LOSSES = {"loss", "burst", "drop", "link_down", "corrupt"}
"""kinds of fault that take a packet away (a damaged one is thrown away by the next iCRC check)"""


def bound_bps(context: CheckContext) -> float:
    """What framing leaves of the slowest link, in bits of gradient per second and worker: rate x payload bytes / frame
    bytes. The rate of a link that several connections share is divided among them. What the protocol makes of it
    otherwise (`Protocol.bound`)."""
    worker = context.plan.workers[0]
    share = worker.framing.payload_bytes / worker.framing.frame_bytes
    topology = context.plan.scenario.topology
    shared = data_flows(context.plan)
    link_bps = share * min(topology.link(link).shape.rate_bps / flows for (link, _), flows in shared.items())
    bound = planned_protocol(context.plan.scenario.job.runs).bound
    return float(require(bound, bound(context.plan, link_bps), _BOUND))


def metrics(context: CheckContext, fidelity: CheckResult | None = None) -> dict[str, Any]:
    """The `metrics` of result.json. With a fidelity that does not hold, the figures of PERFORMANCE are None; what was
    measured stands under `unreliable`."""
    iterations = _iteration_times(context)
    sizes = {record.event.iteration: record.event.bytes for record in context.events(CollectiveStarted)}
    size_bytes = max(sizes.values(), default=0)
    times = [duration for duration in iterations if duration is not None]
    # Over jobs that differ there is no one size per iteration: each of them has a goodput of its own.
    alone = not (context.plan.scenario.jobs or context.plan.beside)
    known = len(times) == len(iterations) and sum(times) > 0 and alone
    goodput = 8 * sum(sizes.values()) / sum(times) if known and size_bytes else None
    duration_s, jct_s = _duration(context), _jct(context)
    values: dict[str, Any] = {
        "duration_s": duration_s,
        "jct_s": jct_s,
        "jct": timer_metrics(context, jct_s),
        "iterations_s": iterations,
        "goodput_bps": goodput,
        **bandwidths(context, goodput),
        "samples_per_second": samples_per_second(_samples(context), jct_s),
        "bound_bps": None if context.plan.beside else bound_bps(context),
        "gradient_bytes": size_bytes,
        "iteration_times": iteration_times(context),
        "message_times": message_times(context),
        **link_metrics(context, duration_s),
        "retransmissions": _retransmissions(context),
        "reliable": bool(context.plan.ring_workers),
        "refused_results": refused_results(context),
        "naks": len(context.events(NakSent)),
        "timeouts": sum(record.event.cause == "timeout" for record in context.events(Retransmission, DatagramResent)),
        "rnr_naks": len(context.events(RnrNakSent)),
        "rejected_frames": _counts(record.event.reason for record in context.events(FrameRejected)),
        "lost": _lost(context),
        **_lost_data(context),
        "replayed_results": len(context.events(ResultReplayed, BlockReplayed)),
        "inferred_messages": len(context.events(MessageInferred)),
        "ignored_packets": _counts(
            record.event.reason for record in context.events(PacketIgnored, ContributionIgnored)
        ),
        "peak_slots": max(
            (record.event.peak_occupied for record in context.events(SlotsAtEnd, MemoryAtEnd)), default=None
        ),
        "slot_occupancy": slot_occupancy(context),
        "training": _training(context),
        "unreliable": None,
    }
    # Only where the scenario asks for them.
    jobs = job_metrics(context)
    routing = routing_metrics(context)
    extra = {
        "congestion": next(filter(None, map(congestion_metrics, parts_of(context).values())), None),
        "background": background_metrics(context),
        "jobs": jobs,
        "routing": routing,
        "sampled": sampled_metrics(context),
        "queues": queue_metrics(context),
        "pfc": pfc_metrics(context),
        "trace": trace_metrics(context),
    }
    values |= {name: found for name, found in extra.items() if found is not None}
    for part in parts_of(context).values():
        own = judged_protocol(part.plan.scenario.job.protocol).figures
        values |= require(own, own(part), _FIGURES)
    return values if fidelity is None else withhold(values, fidelity)


def withhold(values: dict[str, Any], fidelity: CheckResult) -> dict[str, Any]:
    """The metrics of a run as its fidelity allows: with one that does not hold, what was measured stands under
    `unreliable`."""
    if fidelity.verdict is Verdict.PASS:
        return values
    jobs = values.get("jobs")
    values = {name: found for name, found in values.items() if name != "trace"}  # all of it is time
    values = {**values, "unreliable": {"reason": fidelity.detail, **{name: values[name] for name in PERFORMANCE}}}
    values.update(dict.fromkeys(PERFORMANCE))
    for name in _TIMES:
        values[name] = dict.fromkeys(values[name])
    values["busiest_link"] = {**values["busiest_link"], "utilisation": None}
    values["slot_occupancy"] = {**values["slot_occupancy"], "mean": None}
    if jobs is not None:
        values["unreliable"]["jobs"] = jobs
        values["jobs"] = without_performance(jobs)
    return values


def figures_of(found: dict[str, Any]) -> Figures:
    """Of the metrics of a run, its performance figures not withheld."""
    seconds = {} if found["jct_s"] is None else {"JCT": found["jct_s"]}
    iterations = [value for value in found["iterations_s"] or () if value is not None]
    if iterations and len(iterations) == len(found["iterations_s"]):
        seconds["iterations"] = sum(iterations)
    for job in (found.get("jobs") or {"each": ()})["each"]:
        if job["jct_s"] is not None:
            seconds[f"{OF_JOB}{job['name'] or job['job']}"] = job["jct_s"]
    if (found.get("jobs") or {}).get("average_jct_s") is not None:
        seconds["average JCT"] = found["jobs"]["average_jct_s"]
    return Figures(seconds, found["retransmissions"]["packets"])


def fault_table(context: CheckContext) -> list[dict[str, Any]]:
    """The `faults` of result.json: every fault of the scenario, including those without hits. `rate`: of packets that
    match, None for what has none. `silent`: it is expected to hit nothing. `active_s`: its windows, empty where it
    stays until the end. `struck_s`: times of the first and last hit."""
    faults = {fault.name: fault for fault in context.plan.scenario.faults}
    struck: dict[str, list[Record[FaultStruck]]] = {fault.name: [] for fault in context.plan.scenario.faults}
    for record in context.events(FaultStruck):
        struck.setdefault(record.event.fault, []).append(record)
    missed: dict[str, Counter[str]] = {name: Counter() for name in struck}
    for miss in context.events(FaultMissed):
        missed[miss.event.fault][miss.event.target] += miss.event.strikes
    kinds = {fault.name: _kind(type(fault).__name__) for fault in context.plan.scenario.faults}
    by_chance = {record.event.fault for record in context.events(FaultByChance)}
    return [
        {
            "name": name,
            "kind": records[0].event.kind if records else kinds[name],
            "strikes": len(records) - sum(missed[name].values()),
            "backend": ",".join(
                sorted({record.event.backend for record in records} | ({"netem"} if name in by_chance else set()))
            ),
            "targets": dict(sorted((Counter(record.event.target for record in records) - missed[name]).items())),
            "rate": getattr(faults.get(name), "rate", None),
            "silent": name in faults and is_silent(faults[name]),
            "active_s": [[since / 1e9, until / 1e9] for since, until in windows_of(faults[name])]
            if name in faults
            else [],
            "struck_s": [min(times) / 1e9, max(times) / 1e9] if (times := [record.t for record in records]) else None,
        }
        for name, records in struck.items()
    ]


def _kind(class_name: str) -> str:
    """`LinkDown` -> `link_down`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in class_name).lstrip("_")


def _jct(context: CheckContext) -> float | None:
    """From the start of the traffic until the last worker held its last result."""
    if not context.all_finished:
        return None
    started = [record.t for record in context.events(TrafficStarted)]
    ends = [record.event.completed_ns for record in context.events(CollectiveCompleted)]
    return float(max(ends, default=0) - (started[0] if started else 0)) / 1e9


def _samples(context: CheckContext) -> list[int | None]:
    """Of each job."""
    return [
        samples_of(job, len(workers))
        for part in context.plan.parts
        for job, workers in zip(part.scenario.all_jobs, part.groups.values(), strict=True)
    ]


def _duration(context: CheckContext) -> float | None:
    """From the start of the traffic to the end of the job (`end_of_job`); None: there was no traffic."""
    started = next((record.t for record in context.events(TrafficStarted)), None)
    return None if started is None else max(0, end_of_job(context.history) - started) / 1e9


def _iteration_times(context: CheckContext) -> list[float | None]:
    """Per iteration, from the first worker's start to the last worker's result; None when one has no result. Where a
    rank may be iterations ahead of others, as the root of a broadcast, no earlier than the last result of the iteration
    before."""
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for record in context.events(CollectiveStarted):
        starts.setdefault(record.event.iteration, []).append(record.t)
    for done in context.events(CollectiveCompleted):
        ends.setdefault(done.event.iteration, []).append(done.event.completed_ns)
    plan, overlap = context.plan, OPERATIONS[context.plan.scenario.job.operation].has_root

    def since(number: int) -> int:
        before = ends.get(number - 1, []) if overlap else []
        return max([min(starts[number]), *before])

    return [
        (max(ends[number]) - since(number)) / 1e9
        if number in starts and len(ends.get(number, ())) >= len(workers_in(plan, number))
        else None
        for number in range(max(worker.workload.iterations for worker in plan.workers))
    ]


def _retransmissions(context: CheckContext) -> dict[str, Any]:
    """`packets` is None when no queue pair reported its statistics (a killed run). `spurious`: those that came, at a
    host or a switch, where they had come before; a packet that the network doubled is one too. None where datagrams
    travel."""
    endpoints = context.events(RcStatistics)
    twice = sum(record.event.reason == "duplicate" for record in context.events(PacketIgnored))
    spurious = twice + sum(record.event.duplicates_received for record in endpoints)
    statistics = context.events(RcStatistics, DatagramStatistics)
    sent = sum(record.event.packets_sent for record in statistics)
    again = sum(record.event.packets_retransmitted for record in statistics)
    return {
        "packets": again if statistics else None,
        "of_packets_sent": sent if statistics else None,
        "share": again / sent if sent else None,
        "spurious": spurious if endpoints else None,
        "by_cause": _counts(record.event.cause for record in context.events(Retransmission, DatagramResent)),
    }


def _counts(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _lost(context: CheckContext) -> dict[str, int]:
    """Packets that faults took away, by what they carried. Over RoCE a result is data of a host whose payload a switch
    replaced. A packet that no host of the job sent is a result as well."""
    counts = {"data": 0, "results": 0, "answers": 0, "other": 0}
    hosts = {format_ip(host.ip) for host in context.plan.scenario.topology.hosts if host.ip}
    carried = {word: what for each in transports_of(context.plan.scenario) for word, what in each.kinds.items()}
    for record in _losses(context):
        kind = carried.get(record.event.packet.partition(" ")[0]) or carried_by(record.event.opcode)
        from_switch = kind == "data" and bool(record.event.flow) and record.event.flow.partition(">")[0] not in hosts
        counts["results" if from_switch else kind] += 1
    return counts


def _losses(context: CheckContext) -> list[Record[FaultStruck]]:
    """Hits that took a packet away: not those on a link or a node as a whole. Damage with a repaired iCRC does not: it
    goes through."""
    repaired = {f.name for f in context.plan.scenario.faults if isinstance(f, Corrupt) and f.repair_icrc}
    struck = context.events(FaultStruck)
    return [
        record
        for record in struck
        if record.event.kind in _LOSSES and record.event.psn >= 0 and record.event.fault not in repaired
    ]


def _lost_data(context: CheckContext) -> dict[str, int]:
    """Distinct data packets that were lost at least once, and those of them whose receiver finished: it has what they
    carried."""
    done = context.finished
    receivers = {
        f"{format_ip(part.from_predecessor.envelope.dst_ip)}>{format_ip(part.from_predecessor.envelope.src_ip)}:"
        f"{part.from_predecessor.qpn}": part.name
        for worker in context.plan.ring_workers
        for part in worker.parts
    }
    lost = {
        (record.event.flow, record.event.psn)
        for record in _losses(context)
        if carried_by(record.event.opcode) == "data"
    }
    recovered = sum(receivers.get(flow) in done for flow, _ in lost)
    return {"lost_data_packets": len(lost), "recovered_packets": recovered}


def _training(context: CheckContext) -> dict[str, float | int] | None:
    progress = context.events(TrainingProgress)
    if not progress:
        return None
    last = max(progress, key=lambda record: record.event.iteration)
    return {"iteration": last.event.iteration, "loss": last.event.loss, "accuracy": last.event.accuracy}

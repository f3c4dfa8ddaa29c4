"""What a hunt met: hits of faults, values drawn, transitions taken. Counts that add up in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from testbed.faults.events import FaultMissed, FaultStruck
from testbed.faults.healing import kind_of
from testbed.history import Record
from testbed.hunt.contract import Hunted
from testbed.hunt.expected import may_fail
from testbed.hunt.protocols import hunted_in
from testbed.hunt.survival_datagrams import blocks_of, window_of
from testbed.hunt.transitions import step_of
from testbed.scenario.model import Scenario
from workloads.events import WorkerFinished

__all__ = ["Coverage", "values_of_connections", "values_of_jobs", "values_of_plans"]


@dataclass(slots=True)
class Coverage:
    """Of one schedule or of many."""

    schedules: int = 0
    traced: int = 0
    completed: int = 0
    """every worker finished"""
    told: Counter[str] = field(default_factory=Counter)
    """schedules that were allowed to fail and did, by why they were allowed to"""
    strikes: Counter[str] = field(default_factory=Counter)
    """by kind of fault"""
    struck: Counter[str] = field(default_factory=Counter)
    """by kind of fault: schedules in which such a fault hit something"""
    drawn: dict[str, Counter[str]] = field(default_factory=dict)
    """values of the drawn quantities -> schedules"""
    transitions: Counter[str] = field(default_factory=Counter)
    """steps of the tables, as `transitions` names them; traced schedules only"""

    def add(self, scenario: Scenario, history: Iterable[Record]) -> None:
        """One schedule."""
        self.schedules += 1
        self.traced += scenario.trace
        finished, strikes = set(), Counter[str]()
        steps = list[str]()
        for record in history:
            event = record.event
            if (step := step_of(event)) is not None:
                steps.append(step)
            elif isinstance(event, FaultStruck):
                strikes[event.kind] += 1
            elif isinstance(event, FaultMissed):
                strikes[event.kind] -= event.strikes
            elif isinstance(event, WorkerFinished):
                finished.add(record.node)
        if scenario.trace:
            self.transitions.update(steps)
        self.strikes.update(+strikes)
        self.struck.update(set(+strikes))
        if len(finished) >= _workers(scenario):
            self.completed += 1
        elif reason := may_fail(scenario):
            self.told[reason] += 1
        for name, value in _values(scenario).items():
            self.drawn.setdefault(name, Counter())[str(value)] += 1

    def merge(self, other: Coverage) -> None:
        self.schedules += other.schedules
        self.traced += other.traced
        self.completed += other.completed
        for mine, theirs in ((self.told, other.told), (self.strikes, other.strikes), (self.struck, other.struck)):
            mine.update(theirs)
        self.transitions.update(other.transitions)
        for name, counts in other.drawn.items():
            self.drawn.setdefault(name, Counter()).update(counts)

    def as_json(self) -> dict[str, Any]:
        return {
            "schedules": self.schedules,
            "traced": self.traced,
            "completed": self.completed,
            "told": _sorted(self.told),
            "strikes": _sorted(self.strikes),
            "struck": _sorted(self.struck),
            "drawn": {name: _sorted(counts) for name, counts in sorted(self.drawn.items())},
            "transitions": _sorted(self.transitions),
        }

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Coverage:
        counters = {name: Counter(data[name]) for name in ("told", "strikes", "struck", "transitions")}
        drawn = {name: Counter(counts) for name, counts in data["drawn"].items()}
        return cls(data["schedules"], data["traced"], data["completed"], drawn=drawn, **counters)


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(
        sorted(counts.items(), key=lambda item: (len(item[0]), item[0]) if item[0].isdigit() else (99, item[0]))
    )


def _workers(scenario: Scenario) -> int:
    return sum(len(job.hosts) or len(scenario.ranks) for job in scenario.all_jobs)


def _values(scenario: Scenario) -> dict[str, object]:
    hunted = hunted_in(scenario)
    own = values_of_connections(scenario) if hunted is None else hunted.hunt.values(scenario, hunted)
    transport, link = scenario.transport, scenario.link
    return {
        "gradients": scenario.all_jobs[0].workload,
        "hosts": len(scenario.topology.hosts),
        "path MTU": transport.path_mtu,
        **own,
        "straggler": "none" if all(each.straggle_rank is None for each in scenario.all_jobs) else "one",
        "link rate (Mbit/s)": link.rate_bps // 1_000_000,
        "link delay (us)": link.delay_ns / 1000,
        "queue": link.queue_packets,
        "faults": len(scenario.faults),
        "kinds": "+".join(sorted({kind_of(fault) for fault in scenario.faults}))
        if len(scenario.faults) == 1
        else "several"
        if scenario.faults else "none",
    }  # fmt: skip


def _values_of_datagrams(scenario: Scenario) -> dict[str, object]:
    """Of the jobs: the first one's."""
    jobs = scenario.all_jobs
    job = jobs[0]
    return {
        "arithmetic": f"{job.op} of {job.dtype}",
        "iterations": job.iterations,
        "jobs": len(jobs),
        "workers of a job": len(job.hosts) or len(scenario.ranks),
        "window": window_of(scenario, job),
        "blocks": blocks_of(scenario, job),
        "memory": scenario.switch.memory,
        "arrivals": "one by one" if any(each.arrival_ns for each in jobs) else "at once",
    }


def values_of_jobs(scenario: Scenario, hunted: Hunted) -> dict[str, object]:
    values, knobs = _values_of_datagrams(scenario), scenario.switch.knobs
    if hunted.spans_racks:
        values["levels"] = "one" if len(scenario.topology.switches) == 1 else "two"
    if hunted.server:
        values |= {
            "servers": len({each.server for each in scenario.all_jobs}),
            "AIMD": scenario.transport.aimd,
            "reclaim": knobs.reclaim,
        }
    if hunted.knobs:
        values |= {name: getattr(knobs, name) for name in ("preempt", "age", "free", "ps_copy", "reminder")}
        values["priority"] = scenario.all_jobs[0].priority
    return values


def values_of_plans(scenario: Scenario, hunted: Hunted) -> dict[str, object]:
    routing, topology = scenario.routing, scenario.topology
    assert routing is not None, f"{hunted.name} follows a plan"
    return _values_of_datagrams(scenario) | {
        "network": "triangle" if topology.kind == "custom" else topology.kind,
        "planner": routing.planner,
        "mode": routing.mode if routing.mode == "aimd" else f"paced at {routing.pace:g}",
        "on collision": routing.on_collision,
        "capacity (of a link's rate)": f"{routing.capacity_bps / scenario.link.rate_bps:g}",
        "switches of other capacity": len(routing.capacities),
        "bucket (us)": routing.bucket_ns // 1000,
        "commodity switches": scenario.switch.commodity,
    }


def values_of_connections(scenario: Scenario, hunted: Hunted | None = None) -> dict[str, object]:
    job, transport = scenario.job, scenario.transport
    return {
        "arithmetic": f"{job.op} of {job.dtype}",
        "iterations": job.iterations,
        "message packets": job.message_packets,
        "window": job.window_messages,
        "credit": job.credit,
        "hello": "with" if job.hello else "without",
        "release": scenario.switch.release,
        "verb": transport.verb,
        "first PSN": "drawn"
        if transport.start_psn is None
        else "near the wrap"
        if transport.start_psn > 1 << 23
        else "near the half"
        if transport.start_psn
        else "0",
        "retries": transport.retry_count,
        "receives": "late" if transport.receive_late_ns else "in time",
    }

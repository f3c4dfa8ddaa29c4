"""Runs of DLCP in virtual time, and histories that say something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from testbed.checkers import CheckContext
from testbed.history import Record, sort_history
from testbed.plan import make_plan
from testbed.scenario import parse_scenario
from testbed.worlds.simulated import simulate
from workloads.dlcp.events import FlowClosed

__all__ = ["RING", "SERVER", "SWITCHES", "context_of", "edited", "swapped"]

RUN = """
name: bound
topology: {kind: rack, hosts: HOSTS, link: {rate: 100Mbps}}
switch: {program: PROGRAM, memory: 32}
transport: {path_mtu: 256}
job: {protocol: dlcp, loss_bound: BOUND, window_packets: 8, JOB}
faults: [{kind: loss, links: all, direction: both, rate: 5%}]
"""

SERVER = "size: 10000B, iterations: 2"
SWITCHES = f"{SERVER}, over: ina, slot_timer: 100us"
RING = f"{SERVER}, over: ring"


@cache
def context_of(job: str = SERVER, hosts: int = 3, bound: str = "10%") -> CheckContext:
    text = RUN.replace("JOB", job).replace("HOSTS", str(hosts)).replace("BOUND", bound)
    text = text.replace("PROGRAM", "dlcp" if "over: ina" in job else "forward")
    plan = make_plan(parse_scenario(text, "bound.yaml"))
    return CheckContext(plan, sort_history(simulate(plan)))


def edited(
    kind: type, which: Callable[[Record[Any]], bool], change: Callable[[Any], Any], job: str = SERVER
) -> CheckContext:
    """The history of a good run with another event, none (None) or several (a list) in place of those."""
    context, history = context_of(job, 3 if job == SERVER else 4), list[Record]()
    for record in context.history:
        if not isinstance(record.event, kind) or not which(record):
            history.append(record)
            continue
        put = change(record.event)
        history += [replace(record, event=event) for event in (put if isinstance(put, list) else [put] if put else [])]
    assert history != list(context.history)
    return CheckContext(context.plan, history)


def swapped(event: FlowClosed) -> FlowClosed:
    """One packet that came in the place of one that did not."""
    bits = int(event.bitmap, 16)
    missing = next(packet for packet in range(event.packets) if not bits >> packet & 1)
    there = next(packet for packet in range(event.packets) if bits >> packet & 1)
    return replace(event, bitmap=f"{bits ^ 1 << missing ^ 1 << there:x}")

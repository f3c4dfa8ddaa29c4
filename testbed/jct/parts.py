"""The parts of a run's job completion time, from its history and the captures of its switches."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.history.events import CaptureLost, TrafficStarted
from testbed.jct.hops import hops_of
from testbed.jct.hosts import hosts_of, pauses_of
from testbed.jct.model import JctPart, JctParts, total
from testbed.jct.paused import link_pauses
from testbed.jct.records import Unreadable, read
from testbed.jct.walk import Walk
from testbed.jct.workers import Timelines
from workloads.events import CollectiveCompleted

__all__ = ["jct_parts"]

_LATE_NS = 1_000_000
"""real time in which a process of the emulated world acts on a frame"""


def jct_parts(context: CheckContext) -> JctParts:
    """With the reason where the run does not say."""
    unknown = _unseen(context)
    if unknown:
        return JctParts(unknown=unknown)
    scenario = context.plan.scenario
    try:
        seen = read(context.captures, classes=any(link.shape.knows_classes for link in scenario.topology.links))
    except Unreadable as error:
        return JctParts(unknown=str(error))
    start = next((record.t for record in context.events(TrafficStarted)), 0)
    last = dict[str, int]()
    for done in context.events(CollectiveCompleted):
        last[done.node] = max(done.event.completed_ns - start, last.get(done.node, 0))
    pauses = {switch.name: pauses_of(context, switch.name) for switch in context.plan.switches}
    held = link_pauses(context)
    hops = hops_of(scenario, seen, pauses, held)
    late = 0 if scenario.world == "simulated" else _LATE_NS // (scenario.dilation or 1)
    came = {name: [hop.arrives for hop in each] for name, each in hops.came.items()}
    hosts = hosts_of(context, (host.name for host in scenario.topology.hosts), came, late)
    for link in scenario.topology.links:
        for name, direction in ((link.a, "up"), (link.b, "down")):
            if name in hosts:
                hosts[name].held += held.get((link.name, direction), ())
    walk = Walk(hops, hosts, pauses, late)
    slowest = max(last, key=lambda name: (last[name], name))
    timelines, workers = Timelines(walk, context.workers), dict[str, dict[JctPart, int]]()
    for job in (group for part in context.plan.parts for group in part.groups.values()):
        ended = max(last[worker.name] for worker in job)
        for worker in job:
            parts = total(timelines.of(worker.name, worker.workload.arrival_ns, last[worker.name]))
            parts[JctPart.SLOWEST] += ended - last[worker.name]
            workers[worker.name] = parts
    return JctParts(total(walk.to_start(slowest, last[slowest])), workers)


def _unseen(context: CheckContext) -> str:
    """Why the history and the captures do not suffice; empty: they do."""
    scenario, plan = context.plan.scenario, context.plan
    completed = {done.node for done in context.events(CollectiveCompleted)}
    if not context.all_finished or not completed >= set(context.workers):
        return "not all workers finished"
    if scenario.nics:
        return "hosts use RDMA devices, which report no frames"
    if not scenario.capture:
        return "the scenario has `capture: false`"
    if context.events(CaptureLost):
        return "a capture has holes"
    captured = {capture.stem if hasattr(capture, "stem") else capture.switch for capture in context.captures}
    missing = sorted({switch.name for switch in plan.switches} - captured)
    if missing:
        return f"there is no capture of {', '.join(missing)}"
    ends = ((link.name, {link.a, link.b}) for link in scenario.topology.links)
    bare = [name for name, nodes in ends if not nodes & captured]
    return f"no capture shows the link {bare[0]}" if bare else ""

"""`tb validate`: what a scenario means. It touches nothing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from testbed.cli.validation import resolved_text, validate_as_json, warnings
from testbed.estimate import MemoryNeed, memory_need
from testbed.estimate.headroom import headroom_needs, kept_bytes
from testbed.faults.healing import kind_of
from testbed.kernel.free_memory import available_bytes
from testbed.plan import make_plan
from testbed.plan.jobs import plan_jobs
from testbed.plan.time_need import TimeNeed, time_need
from testbed.reading.units import format_duration, format_rate, format_size
from testbed.scenario import Scenario, load_scenario
from testbed.scenario.geometry import geometry_of, packet_bytes
from testbed.terminal.folding import fold_lines
from testbed.terminal.numbers import byte_size, seconds
from testbed.terminal.standard import print_document
from testbed.terminal.stream import complain, prose_columns
from testbed.terminal.words import amount

__all__ = ["run_validate"]


def run_validate(args: argparse.Namespace) -> int:
    if args.json:
        return validate_as_json(args.scenario, args.overrides)
    scenario = load_scenario(args.scenario, args.overrides)
    plan = make_plan(scenario)
    needs = time_need(plan), memory_need(plan)
    if args.resolved:
        print_document(resolved_text(scenario, plan))
    else:
        print("\n".join(fold_lines([*_summary(scenario), *_estimate(*needs)], prose_columns(sys.stdout))))
    for warning in warnings(plan, *needs):
        complain(f"tb: {warning}")
    return 0


def _estimate(time: TimeNeed, memory: MemoryNeed) -> Iterator[str]:
    by = f" ({time.bottleneck})" if time.bottleneck else ""
    yield f"  time      {seconds(time.least_s)} at least{by}, about {seconds(time.about_s)} without faults"
    yield f"  memory    about {byte_size(memory.most)}; {byte_size(available_bytes())} are available here"


def _summary(scenario: Scenario) -> Iterator[str]:
    link, job, transport = scenario.link, scenario.job, scenario.transport
    hosts = len(scenario.topology.hosts)
    yield f"{scenario.name}: valid ({scenario.source})"
    yield f"  world     {scenario.world}, seed {scenario.seed}, at most {format_duration(scenario.time_limit_ns)}"
    switches = len(scenario.topology.switches)
    idle = "" if scenario.beside or not job.hosts else f" ({', '.join(job.hosts)} in the job)"
    above = f" and {switches:,} switches" if switches > 1 else ""
    yield (
        f"  network   {scenario.topology.kind} of {amount(hosts, 'host')}{idle}{above}, {format_rate(link.rate_bps)} "
        f"links, MTU {link.mtu}"
    )
    for part in scenario.parts:
        yield from _jobs(part)
    sizes = geometry_of(job, transport)
    if sizes is not None:
        yield (
            f"  messages  {sizes.messages:,} per connection, {amount(sizes.packets, 'packet')} of at most "
            f"{packet_bytes(transport)[0]:,} bytes; window {job.window_messages} x {job.message_packets} packets"
        )
    for fault in scenario.faults:
        yield f"  fault     {fault.name} ({kind_of(fault)})"
    if transport.congestion_control != "none":
        yield f"  control   {transport.congestion_control}"
    for need in headroom_needs(scenario):
        more = f" and {amount(len(need.links) - 1, 'other')}" if len(need.links) > 1 else ""
        yield (
            f"  pfc       headroom of {need.links[0]}{more}: {need.given:,} B per port and class; "
            f"{need.exact:,} B lose nothing"
        )
    if scenario.pfc is not None:
        kept = kept_bytes(scenario)
        yield f"  pfc       buffer {scenario.pfc.buffer_bytes:,} B; headroom and reserves take at most {kept:,} B"
    for flow in scenario.background:
        rate = "" if flow.rate_bps is None else f", {format_rate(flow.rate_bps)}"
        yield f"  tenant    {flow.name} ({flow.kind}, {flow.source} to {flow.target}{rate})"
    yield f"  expect    {scenario.expect}"


_SHOWN_JOBS = 16


def _jobs(scenario: Scenario) -> Iterator[str]:
    """Of one protocol: one line for each."""
    job = scenario.job
    if not scenario.jobs:
        size = "" if job.workload == "digits" else f" of {format_size(job.size_bytes)}"
        yield f"  job       {job.protocol}, {job.iterations} x {job.workload} gradient{size}, {job.op} of {job.dtype}"
        return
    yield f"  jobs      {len(scenario.jobs)} of {scenario.job.protocol}"
    for planned in plan_jobs(scenario)[:_SHOWN_JOBS]:
        job, compute = planned.job, planned.workloads[0].compute
        model = "" if job.model is None else f"{job.model.name or 'layers'} / {job.scale}, "
        takes_ns = 0 if compute is None else sum(layer.forward_ns + layer.backward_ns for layer in compute.layers)
        computes = f", {seconds(takes_ns / 1e9)} of computing each" if takes_ns else ""
        start = f", from {format_duration(job.arrival_ns)} on" if job.arrival_ns else ""
        yield (
            f"    {planned.number:4} {job.name}: {amount(len(job.hosts), 'worker')} ({job.hosts[0]} to "
            f"{job.hosts[-1]}), {job.iterations} x "
            f"{model}{4 * planned.workloads[0].elements:,} bytes of {job.dtype}{computes}{start}"
        )
    if len(scenario.jobs) > _SHOWN_JOBS:
        yield f"         and {len(scenario.jobs) - _SHOWN_JOBS} more"

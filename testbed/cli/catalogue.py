"""`tb list` and `tb validate`: what there is, and what a scenario means."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator

from testbed.cli.validation import resolved_text, shown_seconds, validate_as_json, warnings
from testbed.estimate import MemoryNeed, memory_need
from testbed.faults.healing import kind_of
from testbed.faults.kinds import FAULT_KINDS
from testbed.kernel.free_memory import available_bytes
from testbed.plan import make_plan
from testbed.plan.jobs import plan_jobs
from testbed.plan.time_need import TimeNeed, time_need
from testbed.reading.documentation import plain_text
from testbed.reading.sections import names_of
from testbed.reading.units import format_duration, format_rate, format_size
from testbed.report.lines import byte_size
from testbed.scenario import Scenario, builtin_names, load_scenario
from testbed.scenario.geometry import geometry_of, packet_bytes
from testbed.scenario.names import COLLECTIVES, PLANNERS, PROGRAMS
from testbed.scenario.topology_kinds import TOPOLOGY_KINDS
from testbed.sweeps import builtin_sweeps, describe_sweep
from testbed.terminal.folding import fold, fold_lines
from testbed.terminal.stream import complain, prose_columns
from testbed.terminal.words import amount, first_sentence

__all__ = ["configure_list", "configure_validate", "run_list", "run_validate"]


def _scenarios() -> Iterator[tuple[str, str]]:
    for name in builtin_names():
        scenario = load_scenario(name)
        first = first_sentence(scenario.description)
        yield name, first if scenario.expect == "pass" else f"{first} (expect: {scenario.expect})"


def _topologies() -> Iterator[tuple[str, str]]:
    for name, kind in TOPOLOGY_KINDS.items():
        yield name, f"{plain_text(kind.meaning)}; keys: {', '.join(names_of(kind.keys))}"


_LISTS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "scenarios": _scenarios,
    "topologies": _topologies,
    "programs": lambda: iter(PROGRAMS.items()),
    "collectives": lambda: iter(COLLECTIVES.items()),
    "planners": lambda: iter(PLANNERS.items()),
    "sweeps": lambda: ((name, describe_sweep(name).partition("\n")[0]) for name in builtin_sweeps()),
    "faults": lambda: ((name, kind.meaning) for name, kind in FAULT_KINDS.items()),
}


def configure_list(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  ./tb list\n  ./tb list faults\n"
    parser.add_argument(
        "what", nargs="?", metavar="WHAT", choices=list(_LISTS), help=f"{', '.join(_LISTS)} (default: all of them)"
    )
    parser.add_argument("--json", action="store_true", help="a list of {name, meaning} for each, as JSON")


def run_list(args: argparse.Namespace) -> int:
    chosen = [args.what] if args.what else list(_LISTS)
    if args.json:
        found = {what: [{"name": name, "meaning": meaning} for name, meaning in _LISTS[what]()] for what in chosen}
        print(json.dumps({"schema": 1, **found}, indent=1, ensure_ascii=False))
        return 0
    room = prose_columns(sys.stdout)
    for number, what in enumerate(chosen):
        rows = list(_LISTS[what]())
        if not args.what:
            print(("" if number == 0 else "\n") + f"{what}:")
        width = max(len(name) for name, _ in rows)
        for name, meaning in rows:
            label = f"{'' if args.what else '  '}{name:{width}}  "
            print("\n".join(fold(meaning, room, label, " " * len(label))))
    return 0


def configure_validate(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  ./tb validate my.yaml\n  ./tb validate rack --set topology.hosts=8 --resolved\n"
    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument("--resolved", action="store_true", help="print the scenario with every default written out")
    parser.add_argument(
        "--json",
        action="store_true",
        help="what it means, or every problem with file, line and key, as JSON alone on stdout",
    )


def run_validate(args: argparse.Namespace) -> int:
    if args.json:
        return validate_as_json(args.scenario, args.overrides)
    scenario = load_scenario(args.scenario, args.overrides)
    plan = make_plan(scenario)
    needs = time_need(plan), memory_need(plan)
    if args.resolved:
        print(resolved_text(scenario, plan), end="")
    else:
        print("\n".join(fold_lines([*_summary(scenario), *_estimate(*needs)], prose_columns(sys.stdout))))
    for warning in warnings(plan, *needs):
        complain(f"tb: {warning}")
    return 0


def _estimate(time: TimeNeed, memory: MemoryNeed) -> Iterator[str]:
    by = f" ({time.bottleneck})" if time.bottleneck else ""
    yield f"  time      {shown_seconds(time.least_s)} at least{by}, about {shown_seconds(time.about_s)} without faults"
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
    for flow in scenario.background:
        rate = "" if flow.rate_bps is None else f", {format_rate(flow.rate_bps)}"
        yield f"  tenant    {flow.name} ({flow.kind}, {flow.source} to {flow.target}{rate})"
    yield f"  expect    {scenario.expect}"


_SHOWN_JOBS = 16


def _jobs(scenario: Scenario) -> Iterator[str]:
    """Of one collective: one line for each."""
    job = scenario.job
    if not scenario.jobs:
        size = "" if job.workload == "digits" else f" of {format_size(job.size_bytes)}"
        yield f"  job       {job.collective}, {job.iterations} x {job.workload} gradient{size}, {job.op} of {job.dtype}"
        return
    yield f"  jobs      {len(scenario.jobs)} of {scenario.job.collective}"
    for planned in plan_jobs(scenario)[:_SHOWN_JOBS]:
        job, compute = planned.job, planned.workloads[0].compute
        model = "" if job.model is None else f"{job.model.name or 'layers'} / {job.scale}, "
        takes_ns = 0 if compute is None else sum(layer.forward_ns + layer.backward_ns for layer in compute.layers)
        computes = f", {takes_ns / 1e6:.1f} ms of computing each" if takes_ns else ""
        start = f", from {format_duration(job.arrival_ns)} on" if job.arrival_ns else ""
        yield (
            f"    {planned.number:4} {job.name}: {amount(len(job.hosts), 'worker')} ({job.hosts[0]} to "
            f"{job.hosts[-1]}), {job.iterations} x "
            f"{model}{4 * planned.workloads[0].elements:,} bytes of {job.dtype}{computes}{start}"
        )
    if len(scenario.jobs) > _SHOWN_JOBS:
        yield f"         and {len(scenario.jobs) - _SHOWN_JOBS} more"

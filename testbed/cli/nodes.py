"""`tb switch` and `tb worker`: one node in the current network namespace, events as JSON lines on stdout. `tb server`
and workers over datagrams are read by `datagramnode`.

SIGTERM and SIGINT stop a node at its next wake-up. It then reports its statistics and ends with exit 0 (a worker that
failed: 1). A switch also heeds SIGHUP (read the rings again) and SIGUSR1 (report the statistics so far);
`docs/switch-node.md`.
"""

from __future__ import annotations

import argparse
import dataclasses
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.kinds import unused_keys
from switch_nodes.program import LetsJobsGo, SwitchProgram, TakesRings
from switch_nodes.program_files import PROGRAM_KEY
from testbed.cli.driving import NodeOrders, drive, noted, tell
from testbed.cli.running import require_raw_sockets, require_root
from testbed.plan.nodeconfig import making_a_node, parse_node_config, place_errors, read_node_config
from workloads.config import HostConfig, WorkerConfig
from workloads.errors import ScenarioError
from workloads.machine import Event
from workloads.trusted import require_trusted

__all__ = ["run_switch", "run_worker"]

_FROM_WORDS = ("program", "ports")
"""fields of SwitchConfig that the command line says"""
_HEEDED = (signal.SIGHUP, signal.SIGUSR1)
"""of a switch: read the rings again, tell the statistics"""
_CAPTURE_BYTES = 200_000_000
"""less than what an agent lets a process write, and than what is collected of one file"""


def run_switch(args: argparse.Namespace) -> int:
    from testbed.scenario.own_program import is_own_program

    if not is_own_program(args.program):
        return _run_switch(args, lambda: None)
    # Whatever the user's code does to its process, we are there to tell it; as in the worlds.
    from switch_nodes.own_program import ended_process
    from testbed.kernel.apart import Ended, PassedOn, run_apart

    signals = PassedOn((signal.SIGTERM, signal.SIGINT, *_HEEDED))
    try:
        return run_apart(lambda tell: _run_switch(args, signals.ready), signals=signals)
    except Ended as end:
        raise ended_process(args.program, end.status) from end


def _run_switch(args: argparse.Namespace, heeds_signals: Callable[[], None]) -> int:
    config = _switch_config(args)
    from switch_nodes.events import SwitchStarted
    from switch_nodes.registry import create_program

    try:
        with making_a_node(args.config):
            program = create_program(config)
    except ScenarioError as error:
        if error.file is not None or error.key == PROGRAM_KEY:
            raise
        raise _of_file(args.config, error) from error
    require_root("switch")
    rings = tuple(ring.ring_id for ring in config.rings)
    reload, report = _HEEDED
    drive(
        program,
        args.ports,
        backpressure=False,
        until=lambda now: False,
        started=SwitchStarted(args.program, tuple(args.ports), rings),
        orders=NodeOrders(
            on_signal={reload: lambda: _reload(program, config, args), report: lambda: _statistics(program)},
            heeds_signals=heeds_signals,
        ),
    )
    return 0


def _of_file(file: Path | None, error: ScenarioError) -> ScenarioError:
    """What a program refuses of its configuration, where the user gave it, or could have."""
    if file is not None:
        return place_errors(file, error)
    allowed = error.allowed or (f"a file with `{error.key}`" if error.key else None)
    return ScenarioError(error.problem, file="tb switch", key="--config", found=error.found, allowed=allowed)


def _switch_config(args: argparse.Namespace) -> SwitchConfig:
    preset = {"program": args.program, "ports": len(args.ports)}
    if args.config is None:
        return parse_node_config("name: switch", "--config", SwitchConfig, preset)
    config = read_node_config(args.config, SwitchConfig, preset)
    problem = f"program {config.program} does not use it"
    unused = [
        ScenarioError(problem, key=key, allowed=f"omit it; the program uses {used}" if used else "omit it")
        for key, used in unused_keys(config)
    ]
    if unused:
        raise place_errors(args.config, *unused)
    _check_ports(config, args.config)
    return config


def _reload(program: SwitchProgram, config: SwitchConfig, args: argparse.Namespace) -> Event | None:
    """Install the rings that the file names now, or end the jobs that it no longer names. A file that cannot be used is
    reported; a running switch never dies of it."""
    from switch_nodes.events import ConfigRefused

    if args.config is None or not isinstance(program, (TakesRings, LetsJobsGo)):
        return ConfigRefused(
            "only a switch with --program netreduce and --config can read its rings again, or its jobs one with "
            "switchml, atp, esa"
        )
    may = "rings" if isinstance(program, TakesRings) else "jobs"
    try:
        fresh = _switch_config(args)
        for field in dataclasses.fields(fresh):
            if field.name != may and getattr(fresh, field.name) != getattr(config, field.name):
                return ConfigRefused(f"{args.config}: {field.name}: only {may} may change while the switch runs")
        if isinstance(program, TakesRings):
            program.install(fresh.rings)
            return None
        if any(job not in config.jobs or job.job not in program.serving for job in fresh.jobs):
            return ConfigRefused(f"{args.config}: jobs: jobs may only leave while the switch runs")
        for job in config.jobs:
            if job not in fresh.jobs:
                program.depart(job.job)
    except ScenarioError as error:
        return ConfigRefused(str(error))
    return None


def _statistics(program: SwitchProgram) -> Event | None:
    from switch_nodes.events import SwitchStatistics
    from switch_nodes.program import ProgramBase

    return SwitchStatistics(dict(program.counters)) if isinstance(program, ProgramBase) else None


def _check_ports(config: SwitchConfig, file: Path) -> None:
    used = [("macs", port) for _, port in config.macs]
    used += [("groups", port) for _, ports in config.groups for port in ports]
    used += [("flood_ports", port) for port in config.flood_ports or ()]
    used += [("rings", member.port) for ring in config.rings for member in ring.members]
    used += [("jobs", member.port) for job in config.jobs for member in job.members]
    used += [("jobs", job.server.port) for job in config.jobs if job.server is not None]
    allowed = f"0 to {config.ports - 1} (one per --port)"
    missing = [
        ScenarioError("no such port", key=key, found=str(port), allowed=allowed)
        for key, port in dict.fromkeys(used)
        if port >= config.ports
    ]
    if missing:
        raise place_errors(file, *missing)


def run_worker(args: argparse.Namespace) -> int:
    from testbed.cli.datagramnode import read_worker_config

    config = read_worker_config(args.config)
    if args.capture is not None:
        require_trusted(args.capture, file="tb worker", key="--capture")
    if not isinstance(config, WorkerConfig):
        return _run_datagram_worker(config, args)
    if args.device is None:
        require_raw_sockets("worker")
    elif args.exchange is None:
        raise ScenarioError("is missing", file="tb worker", key="--exchange", allowed="a folder, with --device")
    if args.capture is not None and args.port is None:
        raise ScenarioError("an RDMA device shows no frames", file="tb worker", key="--capture", allowed="with --port")
    from testbed.cli.verbsnode import run_device_worker, true_names
    from workloads.fallback import create_worker
    from workloads.gradients import create_source
    from workloads.verbs.exchange import FolderExchange
    from workloads.verbs.names import planned_names

    if config.fallback is not None and args.exchange is not None:
        problem = "queue pairs whose numbers are exchanged have no second life"
        raise ScenarioError(problem, file=str(args.config), key="fallback", allowed="omit it, or omit --exchange")
    collective, exchange = config.collective, None
    if args.exchange is not None:
        exchange = FolderExchange(args.exchange, collective.ring_id, collective.rank)
    if args.device is not None:
        source = create_source(config.workload, collective.rank, collective.size, collective.arithmetic.dtype)
        assert exchange is not None, "checked above"
        with noted((signal.SIGTERM, signal.SIGINT)) as came:
            finished = run_device_worker(
                config, args.device, source, exchange, tell=tell, stopped=lambda: bool(came), linger_ns=args.linger
            )
        return 0 if finished else 1
    if exchange is not None:
        config = true_names(config, exchange, dataclasses.asdict(planned_names(config)))
        exchange.publish("connected", {})
    told = exchange
    with making_a_node(args.config):
        worker = create_worker(config)
    return _drive_worker(worker, config.name, args, lambda: told.publish("done", {}) if told is not None else None)


def _run_datagram_worker(config: HostConfig, args: argparse.Namespace) -> int:
    for flag, found in (("--device", args.device), ("--exchange", args.exchange)):
        if found is not None:
            raise ScenarioError(
                f"a worker of {config.collective.kind} talks in datagrams, on an endpoint of our own", file="tb worker",
                key=flag, found=str(found), allowed="omit it, and give --port",
            )  # fmt: skip
    require_raw_sockets("worker")
    from workloads.hosts import create_host

    with making_a_node(args.config):
        worker = create_host(config)
    return _drive_worker(worker, config.name, args)


def _drive_worker(machine: Any, name: str, args: argparse.Namespace, done: Callable[[], None] = lambda: None) -> int:
    """Until its job is over, and `--linger` longer. `done` is called once, when it is."""
    from testbed.captures.capture import BoundedTap

    done_at: list[int] = []

    def over(now: int) -> bool:
        if not machine.finished and not machine.failed:
            return False
        if not done_at:
            done()
        done_at.append(now)
        return now - done_at[0] >= int(args.linger)

    tap = BoundedTap(args.capture, [f"{name}-{args.port}"], _CAPTURE_BYTES) if args.capture is not None else None
    drive(
        machine, [args.port], backpressure=True, until=over, orders=NodeOrders(barrier=args.barrier), tap=tap,
        dilation=args.dilation,
    )  # fmt: skip
    return 1 if machine.failed or not machine.finished else 0

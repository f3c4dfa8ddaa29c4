"""`tb switch` and `tb worker`: one node in the current network namespace, events as JSON lines on stdout.

SIGTERM and SIGINT stop a node at its next wake-up; it then tells its statistics and ends with exit 0 (a worker that
failed: 1).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from switch_nodes.config import SwitchConfig
from testbed.cli.nodeconfig import parse_node_config, read_node_config
from testbed.cli.running import require_root
from testbed.scenario.units import UnitError, parse_duration
from workloads.config import WorkerConfig
from workloads.errors import HostCapabilityError, ScenarioError
from workloads.machine import Event, event_record

__all__ = ["configure_switch", "configure_worker", "run_switch", "run_worker"]


def configure_switch(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ip netns exec s1 ./tb switch --program forward --port s1-eth1 --port s1-eth2
  ip netns exec s1 ./tb switch --program netreduce --port s1-eth1 --port s1-eth2 --config rings.yaml

FILE holds the fields of SwitchConfig (switch_nodes/config.py) but for program and ports: name, macs, rings, release, gate,
groups, flow_salt, flood_ports. JSON is YAML, so both will do.
"""
    parser.add_argument("--program", required=True, metavar="P", help="`tb list programs`, or path.py:Class")
    parser.add_argument(
        "--port",
        dest="ports",
        action="append",
        required=True,
        metavar="IFACE",
        help="an interface; the first is port 0",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="rings and static addresses (default: none)")


def run_switch(args: argparse.Namespace) -> int:
    preset = {"program": args.program, "ports": len(args.ports)}
    if args.config is None:
        config = parse_node_config("name: switch", "--config", SwitchConfig, preset)
    else:
        config = read_node_config(args.config, SwitchConfig, preset)
    _check_ports(config, str(args.config))
    require_root("switch")
    from switch_nodes.registry import create_program

    program = create_program(config)
    _drive(program, args.ports, backpressure=False, until=lambda now: False)
    return 0


def _check_ports(config: SwitchConfig, file: str) -> None:
    used = [("macs", port) for _, port in config.macs]
    used += [("groups", port) for _, ports in config.groups for port in ports]
    used += [("flood_ports", port) for port in config.flood_ports or ()]
    used += [("rings", member.port) for ring in config.rings for member in ring.members]
    for key, port in used:
        if port >= config.ports:
            allowed = f"0 to {config.ports - 1} (one per --port)"
            raise ScenarioError("no such port", file=file, key=key, found=str(port), allowed=allowed)


def configure_worker(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ip netns exec h1 ./tb worker --config h1.yaml --port h1-eth0

FILE holds the fields of WorkerConfig (workloads/config.py). JSON is YAML, so both will do.
"""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="what this worker is told")
    parser.add_argument("--port", required=True, metavar="IFACE", help="the host's interface")
    parser.add_argument(
        "--linger", type=_linger, default=2_000_000_000, metavar="TIME", help="answer peers that long when done (2s)"
    )


def _linger(text: str) -> int:
    try:
        return parse_duration(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"found {text!r}; {error}") from None


def run_worker(args: argparse.Namespace) -> int:
    config = read_node_config(args.config, WorkerConfig)
    require_root("worker")
    from workloads.gradients import create_source
    from workloads.worker import WorkerMachine

    collective = config.collective
    source = create_source(config.workload, collective.rank, collective.size, collective.arithmetic.dtype)
    machine = WorkerMachine(config, source)
    done_at: list[int] = []

    def over(now: int) -> bool:
        if not machine.finished and not machine.failed:
            return False
        done_at.append(now)
        return now - done_at[0] >= int(args.linger)

    _drive(machine, [args.port], backpressure=True, until=over)
    return 1 if machine.failed or not machine.finished else 0


def _drive(machine: Any, interfaces: list[str], *, backpressure: bool, until: Callable[[int], bool]) -> None:
    """Runs the machine until it is over or a signal came, then lets it tell its last facts."""
    from switch_nodes.dataplane import DataPlane

    origin = time.monotonic_ns()

    def tell(now: int, event: Event) -> None:
        record = {"t": now, **event_record(event)}
        sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
        sys.stdout.flush()

    with _stop_on_signals() as stopped:
        try:
            plane = DataPlane(machine, interfaces, backpressure=backpressure, on_event=tell)
        except OSError as error:
            raise HostCapabilityError(
                f"one of the interfaces {', '.join(interfaces)} in this network namespace ({error.strerror or error})",
                "`ip link` shows those that are there",
            ) from error
        plane.run(origin, until=lambda: bool(stopped) or until(time.monotonic_ns() - origin))
    machine.finish(time.monotonic_ns() - origin)
    while (event := machine.next_event()) is not None:
        tell(time.monotonic_ns() - origin, event)


@contextlib.contextmanager
def _stop_on_signals() -> Iterator[list[int]]:
    """A list that gets the number of each SIGTERM or SIGINT that comes."""
    came: list[int] = []
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda number, _: came.append(number)) for kind in kinds]
    try:
        yield came
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)

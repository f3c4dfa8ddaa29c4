"""`tb lab`: hosts and cards reached by SSH, or emulated here (docs/lab.md)."""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.console import Console
from testbed.lab.drivers import Driver, DriverStep, HostDriver, LabCardDriver, read_bitstream
from testbed.terminal.standard import print_document
from testbed.terminal.stream import complain, say
from workloads.errors import LabError, ScenarioError
from workloads.trusted import require_trusted

if TYPE_CHECKING:
    from testbed.history.lab_events import LabStep
    from testbed.lab.lab import Lab
    from testbed.lab.model import Host, Inventory

__all__ = ["run_lab", "step_printer"]

_STEPS: dict[str, tuple[type[Driver], DriverStep]] = {
    step.name: (kind, step) for kind in (HostDriver, LabCardDriver) for step in kind.steps.values() if step.command
}
_TRUST_PLAN = ("connect, and read the host key",)


def run_lab(args: argparse.Namespace) -> int:
    if args.action == "up":
        return _up(args)
    if args.action == "down":
        from testbed.lab.emulated import lab_down

        for line in lab_down(args.name):
            say(f"removed {line}")
        return 0
    if args.action == "run" and not args.dry_run:
        return _run(args)
    from testbed.lab.find import find_inventory
    from testbed.lab.inventory import load_inventory

    inventory = load_inventory(find_inventory(args.inventory))
    if args.action == "list":
        return _list(inventory)
    if args.dry_run:
        return _dry_run(inventory, args)
    if args.action == "trust":
        return _trust(inventory, args)
    from testbed.lab.lab import Lab

    with Lab(inventory, step_printer(Console.of(args), as_json=args.json)) as lab:
        if args.action == "console":
            return _console(lab, args)
        kind, step = _STEPS[args.action]
        with lab.owner.alone() if step.changes else contextlib.nullcontext():
            _act(lab, kind, step, args)
    return 0


def step_printer(console: Console, *, as_json: bool = False) -> Callable[[LabStep], None]:
    """Each step as a line: for people, or as JSON on stdout. It is kept in the log of the lab as well."""

    def tell(step: LabStep) -> None:
        if as_json:
            print_document(json.dumps(asdict(step)))
        elif console.verbosity >= 0 or step.verdict == "failed":
            first, *more = step.detail.splitlines() or [""]
            console.stream.write(f"{step.host:<10} {step.step:<10} {step.seconds:7.2f} s  {step.verdict:<9} {first}\n")
            for line in more[:20]:
                console.stream.write(f"{'':<22}{line}\n")
            console.stream.flush()

    return tell


def _run(args: argparse.Namespace) -> int:
    """What `tb run` does."""
    from testbed.cli.main import main

    if len(args.names) != 1:
        raise ScenarioError("which scenario is meant", file="tb lab run", allowed="tb lab run SCENARIO")
    more = ["--inventory", str(args.inventory)] if args.inventory is not None else []
    more += ["--out", str(args.out)] if args.out is not None else []
    return main(["run", args.names[0], "--world", "lab", *more, *(["--json"] if args.json else [])])


def _up(args: argparse.Namespace) -> int:
    from switch_nodes.fpga.cards import RTL
    from testbed.lab.emulated import LabShape, lab_up

    if not args.emulated:
        raise ScenarioError(
            "is missing", file="tb lab up", key="--emulated", allowed="a lab of hardware is up by itself"
        )
    if args.tunnels and args.no_card:
        raise ScenarioError("tunnels lead to a card", file="tb lab up", key="--no-card", allowed="one of the two")
    if args.card == RTL and (args.no_card or args.card_fault):
        key = "--no-card" if args.no_card else "--card-fault"
        raise ScenarioError("is nothing for a card in hardware", file="tb lab up", key=key, allowed="omit it")
    shape = LabShape(
        args.name, args.hosts, not args.no_card, args.tunnels, card_faults=tuple(args.card_fault), card_kind=args.card
    )
    if args.dry_run:
        for host in shape.all_hosts:
            say(f"{host}: a network namespace with an sshd at {shape.address(host)}")
        return 0
    began = time.monotonic()
    inventory = lab_up(shape, lambda line: complain(f"tb lab: {line}"))
    say(f"{len(shape.all_hosts)} hosts are up after {time.monotonic() - began:.1f} s: {inventory}")
    return 0


def _list(inventory: Inventory) -> int:
    for host in inventory.hosts.values():
        way = f" through {host.jump}" if host.jump else ""
        say(f"{host.name:<10} {host.user or '(you)'}@{host.address}:{host.port}{way}")
        for interface in host.interfaces:
            more = [f"rdma {interface.rdma}"] if interface.rdma else []
            more += [f"at {interface.switch_port}"] if interface.switch_port else []
            say(f"{'':<10} {interface.label}: {interface.device}, MTU {interface.mtu}{''.join(', ' + x for x in more)}")
    for card in inventory.cards.values():
        say(
            f"{card.name:<10} card of {card.host}, {card.transport}, ports: {' '.join('.'.join(p) for p in card.ports)}"
        )
    for name, members in inventory.groups.items():
        say(f"{name:<10} group: {' '.join(members)}")
    return 0


def _chosen(inventory: Inventory, args: argparse.Namespace) -> tuple[Host, ...]:
    if args.action in LabCardDriver.steps:
        return (inventory.hosts[inventory.card(args.names[0] if args.names else None).host],)
    return inventory.select(args.names[1:] if args.action == "collect" else args.names)


def _dry_run_of_a_run(inventory: Inventory, args: argparse.Namespace) -> int:
    from testbed.scenario import load_scenario
    from testbed.worlds.lab.placing import choose_card, places, refuse_for_lab

    if len(args.names) != 1:
        raise ScenarioError("which scenario is meant", file="tb lab run", allowed="tb lab run SCENARIO --dry-run")
    scenario = load_scenario(args.names[0], world="lab")
    card = choose_card(inventory)
    refuse_for_lab(scenario, card, inventory.dilation)
    for role, (name, label) in places(scenario, inventory, card).items():
        host = inventory.hosts[name]
        say(f"{name} ({host.user or 'you'}@{host.address}): worker {role} on {host.interface(label).device}")
    host = inventory.hosts[card.host]
    say(
        f"{host.name} ({host.user or 'you'}@{host.address}): card {card.name} as switch "
        f"{scenario.topology.switches[0].name}"
    )
    return 0


def _dry_run(inventory: Inventory, args: argparse.Namespace) -> int:
    from testbed.lab.package import build_package

    if args.action == "run":
        return _dry_run_of_a_run(inventory, args)

    for host in _chosen(inventory, args):
        words = {
            "python": host.python, "base": host.base, "socket": host.socket, "version": build_package().version,
            "power": " ".join(host.power.cycle) if host.power else "nothing: the inventory says not how",
        }  # fmt: skip
        for line in _would(args.action):
            print(f"{host.name} ({host.user or 'you'}@{host.address}): {line.format(**words)}")
    return 0


def _would(action: str) -> Sequence[str]:
    if action in _STEPS:
        return _STEPS[action][1].would
    return _TRUST_PLAN if action == "trust" else (action,)


def _trust(inventory: Inventory, args: argparse.Namespace) -> int:
    from testbed.lab.parallel import everywhere, require_all
    from testbed.lab.ssh import host_key_of
    from testbed.lab.trust import fingerprint, record, trusted

    hosts = inventory.select(args.names)
    # Who is reached through another host comes after it.
    for depth in sorted({_depth(inventory, host) for host in hosts}):
        row = [host for host in hosts if _depth(inventory, host) == depth]
        keys = require_all(everywhere(lambda host: host_key_of(inventory, host), row, name=lambda host: host.name))
        for host in row:
            key = keys[host]
            held = trusted(inventory.known_hosts, host.name)
            known = fingerprint(key) in held.values()
            now = "trusted" if known else f"NOT the trusted {', '.join(held.values())}" if held else "not trusted yet"
            if args.yes and not known and record(inventory.known_hosts, host.name, key, replace=args.replace):
                now = f"recorded in {inventory.known_hosts}"
            say(f"{host.name:<10} {key.get_name()} {fingerprint(key)}  {now}")
            if not args.yes and held and not known:
                raise LabError(host.name, "shows another key than the trusted one; if that is right: --yes --replace")
    if not args.yes:
        complain("compare them with what each host's console says (ssh-keygen -lf), then: tb lab trust --yes")
    return 0


def _depth(inventory: Inventory, host: Host) -> int:
    return 0 if host.jump is None else 1 + _depth(inventory, inventory.hosts[host.jump])


def _act(lab: Lab, kind: type[Driver], step: DriverStep, args: argparse.Namespace) -> None:
    if kind is LabCardDriver:
        card = LabCardDriver(lab, args.names[0] if args.names else None)
        card.step(step.name)(**_options_of(step, args, card))
        return
    if step.named and not args.names:
        raise ScenarioError("which hosts are meant", file=f"tb lab {step.name}", allowed="names of hosts or groups")
    options = _options_of(step, args)
    hosts = HostDriver(lab, _chosen(lab.inventory, args))
    hosts.step("break" if step.name == "release" and args.break_ else step.name)(**options)


def _options_of(step: DriverStep, args: argparse.Namespace, card: LabCardDriver | None = None) -> dict[str, Any]:
    """What the command line says of the step's parameters."""
    match step.name:
        case "lease":
            return {"seconds": args.time / 1e9}
        case "program":
            assert card is not None, "of a card"
            bitstream = read_bitstream(card.card, args.bitstream)
            if bitstream is None:
                raise ScenarioError("is missing", file="tb lab program", key="--bitstream", allowed="a file")
            return {"bitstream": bitstream}
        case "collect":
            if not args.names:
                raise ScenarioError(
                    "which run is meant", file="tb lab collect", allowed="tb lab collect RUN [HOST ...]"
                )
            folder = args.out or Path(args.names[0])
            require_trusted(folder, file="tb lab collect", key="--out")
            return {"run": args.names[0], "out": folder}
        case _:
            return {}


def _console(lab: Lab, args: argparse.Namespace) -> int:
    from testbed.lab.terminal import interact

    if len(args.names) != 1:
        raise ScenarioError("which host is meant", file="tb lab console", allowed="one host")
    (host,) = lab.inventory.select(args.names)
    return interact(lab.shell(host))

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
from testbed.cli.values import duration, whole
from testbed.lab.drivers import CardDriver, Driver, HostDriver, Step, read_bitstream
from testbed.terminal.stream import complain, say
from topologies import MAX_HOSTS
from workloads.errors import LabError, ScenarioError
from workloads.trusted import require_trusted

if TYPE_CHECKING:
    from testbed.history.lab_events import LabStep
    from testbed.lab.lab import Lab
    from testbed.lab.model import Host, Inventory

__all__ = ["configure_lab", "run_lab", "step_printer"]

_STEPS: dict[str, tuple[type[Driver], Step]] = {
    step.name: (kind, step) for kind in (HostDriver, CardDriver) for step in kind.steps.values() if step.command
}
_ACTIONS: dict[str, str] = {
    "up": "make an emulated lab on this machine (--emulated)",
    "down": "remove it",
    "list": "what the inventory holds; asks nobody",
    "trust": "show the host keys, and record them with --yes",
    **{name: step.does for name, (_, step) in _STEPS.items()},
    "run": "a scenario on the lab, as tb run SCENARIO --world lab",
    "console": "a shell on one host",
}
_TRUST_PLAN = ("connect, and read the host key",)


def configure_lab(parser: argparse.ArgumentParser) -> None:
    actions = "\n".join(f"  {name:<12} {text}" for name, text in _ACTIONS.items())
    parser.epilog = f"""\
actions:
{actions}

examples:
  sudo ./tb lab up --emulated && sudo ./tb run rack --world lab
  ./tb lab trust --inventory lab.yaml --yes
  ./tb lab check workers --inventory lab.yaml
  ./tb lab program fpga0 --bitstream rack.bit --inventory lab.yaml
"""
    parser.add_argument("action", metavar="ACTION", choices=list(_ACTIONS), help=", ".join(_ACTIONS))
    parser.add_argument("names", metavar="NAME", nargs="*", help="hosts or groups (default: all); a card; a run")
    parser.add_argument(
        "--inventory",
        metavar="FILE",
        type=Path,
        help="default: $INA_LAB, lab.yaml here, or the emulated lab that is up",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would run where, and touch nothing")
    parser.add_argument("--json", action="store_true", help="steps as JSON lines on stdout")
    parser.add_argument("--emulated", action="store_true", help="up: a lab of namespaces, with an sshd each")
    parser.add_argument(
        "--hosts", type=whole(1, MAX_HOSTS), default=4, metavar="N", help="up: workers, 1 to 32 (default: 4)"
    )
    parser.add_argument("--no-card", action="store_true", help="up: without an emulated card")
    parser.add_argument(
        "--tunnels", action="store_true", help="up: no workers, the card's N ports are VXLAN tunnels (tb run --card)"
    )
    parser.add_argument(
        "--card-fault",
        action="append",
        default=[],
        metavar="F",
        help="up: what is wrong with the card, as agent-dies:10",
    )
    parser.add_argument("--name", default="emulated", metavar="NAME", help="up, down: of the lab (default: emulated)")
    parser.add_argument(
        "--time",
        type=duration(least_ns=10**9),
        default="60min",
        metavar="TIME",
        help="lease: how long (default: 60min)",
    )
    parser.add_argument("--break", dest="break_", action="store_true", help="release: whoever has them; says who")
    parser.add_argument(
        "--bitstream", type=Path, metavar="FILE", help="program: what to load (default: as the inventory says)"
    )
    parser.add_argument("--yes", action="store_true", help="trust: record the keys that are shown")
    parser.add_argument("--replace", action="store_true", help="trust: also where another key is trusted now")
    parser.add_argument("--out", type=Path, metavar="DIR", help="collect, run: where to (default of collect: ./RUN)")


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
            print(json.dumps(asdict(step)), flush=True)
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
    from testbed.lab.emulated import LabShape, lab_up

    if not args.emulated:
        raise ScenarioError(
            "is missing", file="tb lab up", key="--emulated", allowed="a lab of hardware is up by itself"
        )
    if args.tunnels and args.no_card:
        raise ScenarioError("tunnels lead to a card", file="tb lab up", key="--no-card", allowed="one of the two")
    shape = LabShape(args.name, args.hosts, not args.no_card, args.tunnels, card_faults=tuple(args.card_fault))
    if args.dry_run:
        for host in shape.all_hosts:
            say(f"{host}: a network namespace with an sshd at {shape.address(host)}")
        return 0
    began = time.monotonic()
    inventory = lab_up(shape)
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
    if args.action in CardDriver.steps:
        return (inventory.hosts[inventory.card(args.names[0] if args.names else None).host],)
    return inventory.select(args.names[1:] if args.action == "collect" else args.names)


def _dry_run_of_a_run(inventory: Inventory, args: argparse.Namespace) -> int:
    from testbed.scenario import load_scenario
    from testbed.worlds.lab.placing import choose_card, places, refuse_for_lab

    if len(args.names) != 1:
        raise ScenarioError("which scenario is meant", file="tb lab run", allowed="tb lab run SCENARIO --dry-run")
    scenario = load_scenario(args.names[0], world="lab")
    refuse_for_lab(scenario)
    card = choose_card(inventory)
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


def _act(lab: Lab, kind: type[Driver], step: Step, args: argparse.Namespace) -> None:
    if kind is CardDriver:
        card = CardDriver(lab, args.names[0] if args.names else None)
        card.step(step.name)(**_options_of(step, args, card))
        return
    if step.named and not args.names:
        raise ScenarioError("which hosts are meant", file=f"tb lab {step.name}", allowed="names of hosts or groups")
    options = _options_of(step, args)
    hosts = HostDriver(lab, _chosen(lab.inventory, args))
    hosts.step("break" if step.name == "release" and args.break_ else step.name)(**options)


def _options_of(step: Step, args: argparse.Namespace, card: CardDriver | None = None) -> dict[str, Any]:
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

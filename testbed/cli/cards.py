"""`tb card`: aggregation cards, real and emulated ones (`docs/bring-your-own-fpga.md`)."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.values import duration, named_path, seed, whole
from testbed.terminal.standard import print_document
from testbed.terminal.stream import say
from workloads.errors import ScenarioError
from workloads.trusted import write_named

if TYPE_CHECKING:
    from switch_nodes.config import SwitchConfig

__all__ = ["configure_card", "run_card"]

_SIZES = ("small", "simulated", "large")
_ADDRESS = "udp:HOST:PORT, unix:PATH (an agent), or bar:FILE (a PCIe BAR, as /sys/bus/pci/devices/.../resource0)"


def configure_card(parser: argparse.ArgumentParser) -> None:
    from switch_nodes.fpga.faults import fault_words

    parser.epilog = """\
examples:
  ./tb card bitstream --out netreduce.bit
  sudo ip netns exec c1 ./tb card serve --port c1-eth1 --port c1-eth2 --listen unix:/run/c1.sock
  ./tb card check --card unix:/run/c1.sock
  ./tb card program --card unix:/run/c1.sock netreduce.bit
  ./tb card configure --card unix:/run/c1.sock --config rings.yaml
  ./tb card golden rack-lossy                     the emulated card, in memory
  ./tb card golden rack-lossy --rtl               the card's hardware, simulated
  ./tb card golden rack --rtl --verilog top.v --map pins.yaml
  ./tb card check --rtl top.v --map pins.yaml     a design of your own, in all scenarios that a card must pass
  ./tb card synth --size small --family ecp5      its size and clock
  sudo ./tb card golden trace.pcapng --config rings.yaml --card unix:/run/c1.sock --port t1 --port t2
  ./tb card registers --format markdown
"""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def add(name: str, help_text: str, *, card: bool = True) -> argparse.ArgumentParser:
        child = actions.add_parser(name, help=help_text, description=help_text)
        if card:
            child.add_argument("--card", required=True, metavar="ADDRESS", help=_ADDRESS)
        return child

    registers = add("registers", "the register map; with --card, what is in it now", card=False)
    registers.add_argument("--card", metavar="ADDRESS", help=_ADDRESS)
    registers.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    check = add("check", "who the card is, what it does; a design in Verilog: whether it is right", card=False)
    check.add_argument("--card", metavar="ADDRESS", help=f"{_ADDRESS}; or --rtl")
    check.add_argument(
        "--rtl", type=named_path, metavar="FILE", help="instead: Verilog, simulated, against the scenarios that every "
                                                       "card must pass; needs --map"
    )  # fmt: skip
    check.add_argument("--map", dest="pin_map", type=named_path, metavar="FILE", help="with --rtl: its module and pins")
    check.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="with --rtl: of all scenarios"
    )
    check.add_argument("--json", action="store_true", help="as JSON")
    program = add("program", "load a bitstream, unless it is loaded, and prove that it is")
    program.add_argument("bitstream", type=named_path, metavar="FILE")
    program.add_argument("--limit", type=duration(), default=60_000_000_000, metavar="TIME", help="default: 60s")
    configure = add("configure", "apply a configuration in one step, prove it, and let frames pass")
    _config_option(configure, required=True)
    configure.add_argument("--no-start", action="store_true", help="frames do not pass yet")
    add("stop", "let no frame pass")
    add("reset", "as after power-on; the bitstream stays")
    _configure_golden(add("golden", "play a trace, and compare every byte with the reference program", card=False))
    serve = add("serve", "an emulated card on interfaces of this network namespace", card=False)
    serve.add_argument(
        "--port", dest="ports", action="append", required=True, metavar="IFACE", help="first: data port 0"
    )
    serve.add_argument("--listen", required=True, metavar="ADDRESS", help="udp:127.0.0.1:PORT, unix:PATH")
    serve.add_argument("--serial", default="emulated-0", metavar="TEXT", help="register SERIAL, up to 16 bytes")
    serve.add_argument("--load-time", type=duration(), default=0, metavar="TIME", help="of a bitstream (0s)")
    serve.add_argument(
        "--fault",
        dest="faults",
        action="append",
        default=[],
        metavar="FAULT",
        help=f"what is wrong with it: {', '.join(fault_words())}",
    )
    synth = add("synth", "a table of size and speed of the card's hardware, by yosys and nextpnr", card=False)
    synth.add_argument(
        "--size", dest="sizes", action="append", choices=_SIZES, help="of the design (default: small and large)"
    )
    synth.add_argument(
        "--family", dest="families", action="append", choices=("ecp5", "xc7", "xcup"), help="default: all"
    )
    synth.add_argument("--no-clock", dest="clock", action="store_false", help="without place and route for an ECP5")
    synth.add_argument("--no-cycles", dest="cycles", action="store_false", help="without a simulation")
    synth.add_argument(
        "--at", type=whole(1, 2000), default=200, metavar="MHZ", help="clock for which rates are estimated (200)"
    )
    synth.add_argument(
        "--minutes", type=whole(1, 1440), default=60, metavar="M",
        help="end a tool that takes longer; its figures are then unknown (60)",
    )  # fmt: skip
    synth.add_argument("--out", type=named_path, metavar="DIR", help="keep Verilog, netlists and reports there")
    synth.add_argument("--json", action="store_true", help="as JSON")
    verilog = add("verilog", "write the Verilog of the card's hardware", card=False)
    verilog.add_argument("--size", choices=_SIZES, default="small", help="of the design (small)")
    verilog.add_argument(
        "--bus", choices=("word", "axi4-lite"), default="word", help="of its registers: 32 bits with a strobe (word), "
                                                                      "or AXI4-Lite"
    )  # fmt: skip
    verilog.add_argument("--out", type=named_path, required=True, metavar="FILE")
    bitstream = add("bitstream", "write the reference bitstream of the emulated card", card=False)
    bitstream.add_argument("--out", type=named_path, required=True, metavar="FILE")


def _configure_golden(child: argparse.ArgumentParser) -> None:
    child.add_argument(
        "trace",
        metavar="TRACE",
        help="a scenario (what its switch gets in a simulated run), or a .pcapng or .pcap file with --config",
    )
    child.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="of the scenario"
    )
    child.add_argument("--seed", type=seed, metavar="N", help="of the scenario")
    _config_option(child, required=False)
    child.add_argument(
        "--ports",
        dest="port_count",
        type=whole(1, 64),
        metavar="N",
        help="of the switch in the file of --config (default: as many as it names)",
    )
    child.add_argument("--card", metavar="ADDRESS", help=f"{_ADDRESS}; default: the emulated card, in memory")
    child.add_argument(
        "--port",
        dest="interfaces",
        action="append",
        default=[],
        metavar="IFACE",
        help="interface here that leads to data port 0, then 1, ...; with --card",
    )
    child.add_argument(
        "--fault", dest="faults", action="append", default=[], metavar="FAULT",
        help="without --card: what is wrong with the emulated card, as wrong-sum:N or wrong-psn:N",
    )  # fmt: skip
    child.add_argument(
        "--rtl", action="store_true", help="through the card's hardware, simulated, under gaps and back-pressure"
    )
    child.add_argument(
        "--verilog", type=named_path, metavar="FILE", help="with --rtl: another design than ours; needs --map"
    )
    child.add_argument(
        "--map", dest="pin_map", type=named_path, metavar="FILE", help="with --verilog: its module, sizes and pins"
    )
    child.add_argument("--width", type=int, choices=(64, 512), default=64, help="with --rtl: bits of a data port (64)")
    child.add_argument(
        "--pressure", type=seed, metavar="N", default=2, help="with --rtl: seed of gaps and back-pressure; 0: none (2)"
    )
    child.add_argument(
        "--vcd", type=named_path, metavar="FILE",
        help="with --rtl: where 200 cycles around the first difference go (difference.vcd in the folder of --out)",
    )  # fmt: skip
    child.add_argument(
        "--mutate", type=seed, metavar="N", help="lose, double, swap, damage and change frames first, as this seed says"
    )
    child.add_argument("--frames", type=whole(1, 10**9), metavar="N", help="only the first N")
    child.add_argument(
        "--patience", type=duration(), default=1_000_000_000, metavar="TIME", help="for a frame that must come out (1s)"
    )
    child.add_argument(
        "--settle", type=duration(), default=2_000_000, metavar="TIME", help="after a frame that must cause none (2ms)"
    )
    child.add_argument(
        "--out",
        type=named_path,
        metavar="DIR",
        help="write in.pcapng, expected.pcapng, found.pcapng, switch.json, registers.txt: vectors for a simulation of "
        "your hardware",
    )
    child.add_argument("--json", action="store_true", help="the result as JSON")


def _config_option(child: argparse.ArgumentParser, *, required: bool) -> None:
    child.add_argument(
        "--config", type=named_path, required=required, metavar="FILE", help="as of tb switch (docs/switch-node.md)"
    )


def run_card(args: argparse.Namespace) -> int:
    action = {
        "registers": _registers, "check": _check, "program": _program, "configure": _configure, "stop": _stop,
        "reset": _reset, "golden": _golden, "serve": _serve, "bitstream": _bitstream, "synth": _synth,
        "verilog": _verilog,
    }[args.action]  # fmt: skip
    return action(args)


def _registers(args: argparse.Namespace) -> int:
    from testbed.lab.cards.driving import driver_at
    from testbed.lab.cards.listing import map_json, map_markdown, map_text, values_json, values_text

    if args.card is None:
        print({"text": map_text, "markdown": map_markdown, "json": map_json}[args.format](), end="")
        return 0
    values = driver_at(args.card).dump()
    print(values_json(values) if args.format == "json" else values_text(values), end="")
    return 0


def _check(args: argparse.Namespace) -> int:
    from switch_nodes.fpga.regmap import Status
    from testbed.lab.cards.driving import driver_at

    if args.rtl is not None or args.pin_map is not None:
        from testbed.cli.cardcheck import check_design

        return check_design(args)
    if args.card is None:
        raise ScenarioError("is missing", file="tb card check", key="--card", allowed="an address; or --rtl and --map")
    driver = driver_at(args.card)
    identity, state = driver.identity(), driver.state()
    facts: dict[str, Any] = {
        "card": args.card, **dataclasses.asdict(identity), **dataclasses.asdict(state),
        "features": identity.features.name, "status": state.status.name or "nothing",
        "load_state": state.load_state.name, "failure": state.failure.name,
        "counters": driver.counters(),
    }  # fmt: skip
    if state.status & Status.CONFIGURED:
        config = driver.configuration()
        facts["label"], facts["rings"] = config.name, [ring.ring_id for ring in config.rings]
    if args.json:
        print_document(json.dumps(facts, indent=2))
        return 0
    counters = facts.pop("counters")
    facts["operations"] = ", ".join(f"{op} of {dtype}" for op, dtype in facts["operations"])
    for name, value in facts.items():
        say(f"{name:<18} {value if value != '' else '-'}")
    say(
        "counters           " + (", ".join(f"{name} {count:,}" for name, count in counters.items() if count) or "all 0")
    )
    return 0


def _program(args: argparse.Namespace) -> int:
    from testbed.lab.cards.driving import driver_at

    driver = driver_at(args.card)
    loaded = driver.program(_bytes(args.bitstream), limit_ns=args.limit)
    say(f"{'loaded' if loaded else 'was loaded already'}: {driver.state().bitstream}")
    return 0


def _configure(args: argparse.Namespace) -> int:
    from testbed.lab.cards.driving import driver_at

    driver = driver_at(args.card)
    config = _read_config(args.config, driver.identity().ports)
    driver.configure(config)
    if not args.no_start:
        driver.start()
    rings = ", ".join(str(ring.ring_id) for ring in config.rings) or "none"
    say(f"{'configured' if args.no_start else 'runs'}: {config.name}, rings: {rings}")
    return 0


def _stop(args: argparse.Namespace) -> int:
    from testbed.lab.cards.driving import driver_at

    driver_at(args.card).stop()
    return 0


def _reset(args: argparse.Namespace) -> int:
    from testbed.lab.cards.driving import driver_at

    driver_at(args.card).reset()
    return 0


def _golden(args: argparse.Namespace) -> int:
    from testbed.cli.cardgolden import run_golden

    return run_golden(args)


def _serve(args: argparse.Namespace) -> int:
    from testbed.cli.cardserver import serve_card

    return serve_card(args)


def _synth(args: argparse.Namespace) -> int:
    from testbed.cli.cardsynth import run_synth

    return run_synth(args)


def _verilog(args: argparse.Namespace) -> int:
    from testbed.cli.cardsynth import run_verilog

    return run_verilog(args)


def _bitstream(args: argparse.Namespace) -> int:
    from switch_nodes.fpga.bitstream import bitstream_hash, reference_bitstream

    data = reference_bitstream()
    write_named(args.out, data, key="--out")
    print(bitstream_hash(data).hex())
    return 0


def _read_config(path: Path, ports: int) -> SwitchConfig:
    from switch_nodes.config import SwitchConfig
    from testbed.plan.nodeconfig import read_node_config

    return read_node_config(path, SwitchConfig, {"program": "fpga", "ports": ports})


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScenarioError("cannot be read", file=str(path), found=str(error.strerror)) from error

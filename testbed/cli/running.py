"""`tb run`, `tb demo`, `tb replay`: whatever makes a run and ends with its exit code."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.console import Console
from testbed.cli.dilating import add_dilation, add_twin, dilated
from testbed.cli.values import duration, hosts, named_path, seed
from testbed.terminal.activity import doing
from testbed.terminal.standard import print_document
from testbed.terminal.stream import complain, say, shown_path
from testbed.terminal.words import amount
from workloads.errors import HostCapabilityError, ScenarioError

if TYPE_CHECKING:
    from testbed.plan import Plan
    from testbed.runs.attempts import Say
    from testbed.runs.run import Observer, RunResult
    from testbed.scenario.model import Scenario
    from testbed.worlds.base import World

__all__ = [
    "configure_demo",
    "configure_replay",
    "configure_run",
    "require_raw_sockets",
    "require_root",
    "run_demo",
    "run_replay",
    "run_run",
]


def require_root(command: str, *, simulated_helps: bool = False) -> None:
    """Raises HostCapabilityError when we are not root: network namespaces and packet sockets need it."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:  # other systems have no such thing
        other = " (or add --world simulated, which needs no root)" if simulated_helps else ""
        raise HostCapabilityError(
            "root: network namespaces and packet sockets need it", f"try: sudo ./tb {command}{other}"
        )


REAL_LIMIT_S = 600.0
"""of a run in virtual time, where the command line names none"""
_LEAST_LIMIT_NS = 1_000_000
_CAP_NET_RAW = 13
"""include/uapi/linux/capability.h"""


def require_raw_sockets(command: str) -> None:
    """Raises HostCapabilityError when we are neither root nor have CAP_NET_RAW: packet sockets need it."""
    with contextlib.suppress(OSError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        effective = int(next(line for line in status.splitlines() if line.startswith("CapEff:")).split()[1], 16)
        if effective >> _CAP_NET_RAW & 1:
            return
    require_root(command)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", type=named_path, help="run directory (default: runs/TIME-NAME-SEED)")
    parser.add_argument("--pcap", action="store_true", help="also write one pcapng per link into the run directory")
    parser.add_argument("--json", action="store_true", help="print result.json alone on stdout; all else on stderr")


def configure_run(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb run rack-lossy
  sudo ./tb run psn-wrap --seed 3 --pcap --out /tmp/wrap
  sudo ./tb run rack --set topology.hosts=8 --set topology.link.rate=300Mbps --json
  sudo ./tb run rack --set topology.link.rate=50Mbps --real-time
  ./tb run rack --world simulated --workload trace.goal
"""
    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument("--world", help="emulated, simulated or lab (default: as the scenario says)")
    parser.add_argument(
        "--inventory", metavar="FILE", type=named_path,
        help="of the lab (default: as `tb lab --help` says); docs/lab.md",
    )  # fmt: skip
    parser.add_argument(
        "--card", metavar="NAME",
        help="emulated world: this card of the lab sums, attached by a tunnel. Simulated world: rtl, the card in "
             "hardware, simulated (docs/rtl.md)",
    )  # fmt: skip
    parser.add_argument("--seed", type=seed, metavar="N", help="decides PSNs, gradients, and what the faults hit")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="change one key, as faults[0].rate=3%%; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--workload", metavar="PATH",
        help="run a trace instead of the job: a GOAL text, a Chakra .et file or a folder of them (docs/traces.md)",
    )  # fmt: skip
    parser.add_argument(
        "--check", dest="checks", action="append", default=[], metavar="PATH.py:FUNCTION",
        help="a checker of your own judges the run, too (docs/extending.md); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--expect", action="store_true",
        help="exit code 0 when the verdict is the one that the scenario expects, 1 when it is another; junit.xml "
             "likewise",
    )  # fmt: skip
    parser.add_argument(
        "--real-limit", type=_real_limit, metavar="TIME",
        help="simulated world: end the run after this much real time, as 30s or 1h, with verdict unknown. "
             "`none`: no limit. Default: 10min",
    )  # fmt: skip
    add_dilation(parser)
    add_twin(parser)
    _add_output_options(parser)


def run_run(args: argparse.Namespace) -> int:
    from testbed.scenario import load_scenario

    workload = [] if args.workload is None else [f"job.workload={json.dumps(str(Path(args.workload).absolute()))}"]
    scenario = load_scenario(args.scenario, [*workload, *args.overrides], args.seed, args.world)
    if args.card is not None:
        from testbed.cli.hardware import scenario_with_card

        scenario = scenario_with_card(scenario, args)
    if scenario.world == "emulated":
        require_root(f"run {args.scenario}", simulated_helps=True)
    if args.real_limit is not None and scenario.world != "simulated":
        raise ScenarioError(
            "means nothing in this world", file="tb run", key="--real-limit",
            allowed="with --world simulated; elsewhere time_limit times the dilation is the limit",
        )  # fmt: skip
    if scenario.world == "lab" or args.card is not None:
        from testbed.cli.labworld import inventory_of, lab_world

        inventory = inventory_of(args)
        own_time = None if args.card is None else inventory.dilation
        scenario = dilated(scenario, args.dilation, "tb run", card=own_time)
        return _run(scenario, args, lab_world(args, inventory))
    scenario = dilated(scenario, args.dilation, "tb run")
    if args.inventory is not None:
        raise ScenarioError(
            "means nothing in this world", file="tb run", key="--inventory", allowed="with --world lab, or --card"
        )
    return _run(scenario, args)


_NO_LIMIT = "none"
_HOURS = re.compile(r"([0-9]{1,4}(?:\.[0-9]+)?)h")


def _real_limit(text: str) -> int | str:
    """Raises argparse.ArgumentTypeError."""
    hours = _HOURS.fullmatch(text)
    if text == _NO_LIMIT:
        return _NO_LIMIT
    return duration(_LEAST_LIMIT_NS)(text if hours is None else f"{float(hours[1]) * 3600:.3f}s")


def _seconds_of(limit: int | str | None) -> float | None:
    """None: no limit."""
    if limit is None:
        return REAL_LIMIT_S
    return limit / 1e9 if isinstance(limit, int) else None


def _run(scenario: Scenario, args: argparse.Namespace, world: World | None = None) -> int:
    from testbed.runs.options import RunOptions
    from testbed.runs.run import run_scenario

    console, checks = Console.of(args), getattr(args, "checks", ())
    with doing("planning"):
        plan = _warn(scenario)
    if world is None:
        with _progress(console) as (observer, tell), _commands_told(args):
            result = run_scenario(
                scenario, args.out, args.pcap, observer=observer, plan=plan,
                options=RunOptions(args.twin, tell, checks, _seconds_of(getattr(args, "real_limit", None))),
            )  # fmt: skip
    else:
        # It tells its steps itself.
        options = RunOptions(checks=checks)
        result = run_scenario(scenario, args.out, args.pcap, world=world, plan=plan, options=options)
    if getattr(args, "expect", False):
        return _as_expected(result, console, args.json)
    _show(result, console, args.json)
    return result.exit_code


@contextlib.contextmanager
def _commands_told(args: argparse.Namespace) -> Iterator[None]:
    """An error of `dilation: auto` names the commands that go on."""
    from testbed.runs.attempts import TakesTooLong

    try:
        yield
    except TakesTooLong as error:
        raise error.with_commands(["tb", *args.words]) from error


def _as_expected(result: RunResult, console: Console, as_json: bool) -> int:
    """0 or 1, whatever the verdict is."""
    from testbed.report.junit import junit_xml
    from workloads.trusted import write_file

    document = result.document
    write_file(result.run_dir / "junit.xml", junit_xml(document, result.took_s, expect=True))
    _show(result, console, as_json, document["expect"])
    if document["verdict"] == document["expect"]:
        return 0
    complain(f"tb run: {document['scenario']}: {document['verdict']}, and {document['expect']} was expected")
    return 1


def _warn(scenario: Scenario) -> Plan:
    """What cannot end in time is said before it begins. Its plan."""
    from testbed.cli.validation import warnings
    from testbed.estimate import memory_need, require_memory
    from testbed.plan import make_plan
    from testbed.plan.time_need import time_need

    plan = make_plan(scenario)
    require_memory(plan)
    for warning in warnings(plan, time_need(plan), memory_need(plan)):
        complain(f"tb: {warning}")
    return plan


@contextlib.contextmanager
def _progress(console: Console) -> Iterator[tuple[Observer | None, Say]]:
    """Progress on stderr, which ends however the run ends, and a function that reports there what goes on around the
    run. Nothing with --quiet."""
    if console.verbosity < 0:
        yield None, lambda text: None
        return
    from testbed.report.progress import Progress
    from testbed.terminal.ticker import speak

    made: list[Progress] = []

    def observe(plan: Plan) -> Progress:
        for earlier in made:
            earlier.close()
        made.append(Progress(plan))
        return made[-1]

    try:
        yield observe, speak
    finally:
        for progress in made:
            progress.close()


def _show(result: RunResult, console: Console, as_json: bool, wanted: str = "pass") -> None:
    """`wanted`: the verdict for which the exit code is 0."""
    from testbed.kernel.overdue import note_result
    from testbed.report.document import to_json
    from testbed.report.terminal import print_summary

    note_result(result.run_dir / "result.json", wanted)
    if console.verbosity >= 0:
        print_summary(result.document, console.stream, no_color=not console.color)
        say(f"Report:        {shown_path(result.run_dir / 'report.html')}", stream=console.stream)
        say(f"Run directory: {shown_path(result.run_dir)}", stream=console.stream)
        if result.captures:
            # of a run that did not pass, or asked for
            say(f"Captures:      {', '.join(path.name for path in result.captures)} in there", stream=console.stream)
        console.stream.flush()
    if as_json:
        print_document(to_json(result.document))


def configure_demo(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb demo
  sudo ./tb demo --hosts 8 --loss 3% --seed 7

Before the traffic starts, the demo runs the same job in virtual time, which reports how long the job takes, and
measures the load of this machine. From both it chooses the dilation. At its end it reports what go-back-N would have
cost instead of IRN (not with --quiet or --no-twin), and suggests three commands.
"""
    parser.add_argument("--hosts", type=hosts(2), default=4, metavar="N", help="workers, 2 to 32 (default: 4)")
    parser.add_argument("--loss", type=_loss, default=0.01, metavar="P", help="loss both ways, as 3%% (default: 1%%)")
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="default: 1")
    add_dilation(parser)
    add_twin(parser)
    _add_output_options(parser)


_DEMO_NICE = -5
"""Before other processes of this machine, and behind the nodes of the run."""
_NEXT = (
    ("another protocol", "./tb run atp-lossy --world simulated"),
    ("time against the loss rate", "./tb sweep rack-lossy --axis faults.loss.rate=0,1%,3% --world simulated"),
    ("your own PyTorch script", "sudo ./tb train rack-lossy -- playbooks/training/mlp.py"),
)
"""What to try after the demo, and the command for it."""


def run_demo(args: argparse.Namespace) -> int:
    require_root("demo")
    from testbed.plan import make_plan
    from testbed.runs.attempts import choose_for_machine, with_dilation
    from testbed.runs.recoveries import cost_of, virtual_jct_s
    from testbed.scenario import load_scenario

    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _DEMO_NICE)
    changes = [f"topology.hosts={args.hosts}", f"faults.lossy-links.rate={args.loss!r}"]
    scenario = dilated(load_scenario("demo", changes, args.seed), args.dilation, "tb demo")
    virtual_s = virtual_jct_s(scenario)
    if scenario.dilation is None:
        with _progress(Console.of(args)) as (_, tell), _commands_told(args):
            scenario = with_dilation(scenario, choose_for_machine(make_plan(scenario), tell, virtual_s))
    code = _run(scenario, args)
    console = Console.of(args)
    if console.verbosity >= 0:
        if args.twin:
            say(cost_of(scenario, virtual_s).told(), stream=console.stream)
        console.stream.write("What to try next:\n")
        console.stream.writelines(f"  {what}:\n    {command}\n" for what, command in _NEXT)
    return code


def configure_replay(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb replay runs/latest
  ./tb replay runs/latest --world simulated        the same results in another world?
  ./tb replay runs/latest --set switch.program=my.py:MyProgram
"""
    parser.add_argument("run_dir", metavar="RUN_DIR", type=named_path, help="as runs/latest")
    parser.add_argument("--world", help="emulated, simulated or lab (default: that of the run)")
    parser.add_argument("--inventory", metavar="FILE", type=named_path, help="of the lab, with --world lab")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="only switch.program=PATH.py:CLASS and job.protocol=PATH.py:NAME; a run with code of one's own needs "
             "them",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", type=named_path, help="run directory of the repetition")
    parser.add_argument(
        "--json", action="store_true", help="print the comparison as JSON alone on stdout; all else on stderr"
    )


def run_replay(args: argparse.Namespace) -> int:
    scenario_file = args.run_dir / "scenario.yaml"
    if not scenario_file.is_file():
        raise ScenarioError(
            "not a run directory", file=str(args.run_dir), found="no scenario.yaml in it", allowed="as runs/latest"
        )
    from testbed.runs.replay import read_run, replay

    before = read_run(args.run_dir, args.world, args.overrides)
    world = before.scenario.world
    if world == "emulated":
        require_root(f"replay {args.run_dir}")
    if args.inventory is not None and world != "lab":
        raise ScenarioError(
            "means nothing in this world", file="tb replay", key="--inventory", allowed="with --world lab"
        )
    console = Console.of(args)
    args.card = None
    realised = None
    if world == "lab":
        from testbed.cli.labworld import inventory_of, lab_world

        realised = lab_world(args, inventory_of(args))
    with _progress(console) as (observer, _):
        comparison = replay(before, args.out, observer, realised)
    _show(comparison.result, console, False)
    found = comparison.differences
    say(*(f"differs: {difference}" for difference in found), stream=console.stream)
    say(
        f"compared: {', '.join(comparison.compared)}; "
        f"{amount(len(found), 'difference') if found else 'no differences'}",
        stream=console.stream,
    )
    if args.json:
        told = {"schema": 1, "replayed": str(args.run_dir), "run_dir": str(comparison.result.run_dir)}
        told |= {"verdict": comparison.result.document["verdict"], "exit_code": comparison.exit_code}
        told |= {"differences": found, "compared": comparison.compared}
        print_document(json.dumps(told, indent=1, ensure_ascii=False))
    return comparison.exit_code


def _loss(text: str) -> float:
    from testbed.reading.units import UnitError, parse_probability

    try:
        return parse_probability(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"found {text!r}; {error}") from None

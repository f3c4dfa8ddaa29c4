"""The commands: where each is implemented, and its line in `tb --help`.

A module holds `configure_NAME(parser)` and `run_NAME(args) -> exit code` for each of its commands. Only the options of
a command are imported for its `--help`.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

__all__ = ["COMMANDS", "CliCommand"]


@dataclass(frozen=True, slots=True)
class CliCommand:
    module: str
    help: str
    apart: bool = False
    """`configure_NAME` is in the module of the same name in `testbed/cli/options`: `module` takes long to import"""

    ticks: bool = True
    """a person waits for its end: it says that it is at work. False: nodes, prompts, what stays up until somebody ends
    it, and what hands over to another program"""

    @property
    def options(self) -> str:
        """The module of `configure_NAME`."""
        return self.module.replace("testbed.cli.", "testbed.cli.options.") if self.apart else self.module

    def load(self, name: str) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]:
        """(configure, run)"""
        module = importlib.import_module(self.options)
        configure = cast(Callable[[argparse.ArgumentParser], None], getattr(module, f"configure_{name}"))

        def run(args: argparse.Namespace) -> int:
            return int(getattr(importlib.import_module(self.module), f"run_{name}")(args))

        return configure, run


COMMANDS = {
    "demo": CliCommand("testbed.cli.running", "train a real model over a lossy rack, and judge every sum bit for bit"),
    "run": CliCommand("testbed.cli.running", "run a scenario and say pass, fail or unknown"),
    "train": CliCommand(
        "testbed.cli.training", "training processes (torch.distributed) over a scenario's network, judged"
    ),
    "up": CliCommand(
        "testbed.cli.training",
        "a scenario's network that stays up, for training processes that come by themselves",
        ticks=False,
    ),
    "down": CliCommand(
        "testbed.cli.training",
        "end the network of `tb up`, which then says its verdict",
        ticks=False,
    ),
    "hunt": CliCommand("testbed.cli.hunting", "search thousands of drawn fault schedules for one that breaks a rule"),
    "states": CliCommand(
        "testbed.cli.states",
        "visit every state of a small configuration, with every interleaving of frames",
        ticks=False,
    ),
    "explain": CliCommand(
        "testbed.cli.explaining",
        "why a run stalled: what each node waits for, and the smallest set of faults that still stalls",
        ticks=False,
    ),
    "list": CliCommand(
        "testbed.cli.catalogue",
        "what there is: scenarios, topologies, programs, protocols, faults, sweeps",
        apart=True,
    ),
    "validate": CliCommand(
        "testbed.cli.validating",
        "check a scenario and show what it means; touches nothing",
        apart=True,
    ),
    "schema": CliCommand(
        "testbed.cli.schema", "the keys of scenario files as JSON Schema, for editors that complete them"
    ),
    "graph": CliCommand("testbed.cli.graphing", "draw a scenario's topology: SVG, dot or mermaid", apart=True),
    "route": CliCommand(
        "testbed.cli.routing",
        "plan gradient routes: which switch aggregates what, along which links",
        apart=True,
    ),
    "strategies": CliCommand(
        "testbed.cli.strategies",
        "parallelisation strategies of a model: which are worth having, predicted and measured",
        apart=True,
    ),
    "steering": CliCommand(
        "testbed.cli.steering",
        "flow tables of commodity switches: planned, or as a run counted them",
        apart=True,
    ),
    "doctor": CliCommand("testbed.cli.host", "what this machine can do, and what will be used instead"),
    "shell": CliCommand(
        "testbed.cli.shell",
        "a scenario's network, up, with Mininet's command line on it",
        ticks=False,
    ),
    "cleanup": CliCommand("testbed.cli.host", "remove what dead runs left, and nothing else"),
    "replay": CliCommand("testbed.cli.running", "run again what a run directory holds, with the same seed"),
    "report": CliCommand("testbed.cli.reporting", "write the page of a run again, also of a run that was killed"),
    "compare": CliCommand(
        "testbed.cli.comparing", "finished runs side by side: keys, figures with ratios, checks, faults"
    ),
    "new": CliCommand("testbed.cli.scaffolding", "a package for a protocol of your own, which runs and has tests"),
    "bundle": CliCommand("testbed.cli.bundling", "pack runs and sweeps into an archive that repeats and compares them"),
    "fingerprint": CliCommand(
        "testbed.cli.fingerprinting", "in which order, width and rounding a switch, card, backend or command adds"
    ),
    "timeline": CliCommand("testbed.cli.timeline", "what happened when in a run, per queue pair or node, and per slot"),
    "dissector": CliCommand(
        "testbed.cli.dissecting", "our headers in Wireshark and tshark, as a Lua plug-in", ticks=False
    ),
    "switch": CliCommand(
        "testbed.cli.nodes", "one switch node on given interfaces of this network namespace", apart=True, ticks=False
    ),
    "worker": CliCommand(
        "testbed.cli.nodes", "one host's workload on an interface of this network namespace", apart=True, ticks=False
    ),
    "server": CliCommand(
        "testbed.cli.datagramnode",
        "one parameter server on an interface of this network namespace",
        apart=True,
        ticks=False,
    ),
    "card": CliCommand(
        "testbed.cli.cards",
        "aggregation cards: program, configure, check, prove frame by frame, or emulate one",
        ticks=False,
    ),
    "interop": CliCommand(
        "testbed.cli.interop",
        "stock Linux RoCE endpoints in a virtual machine all-reduce through our switch",
        ticks=False,
    ),
    "lab": CliCommand(
        "testbed.cli.lab",
        "hosts and cards reached by SSH, or an emulated lab: up, check, lease, program ...",
        apart=True,
        ticks=False,
    ),
    "sweep": CliCommand(
        "testbed.cli.sweeping", "scenarios or models over many settings, in parallel; goes on where it stopped"
    ),
    "perf": CliCommand(
        "testbed.cli.bandwidth", "the bandwidth of a collective in the columns of nccl-tests, and the bytes on the wire"
    ),
    "bench": CliCommand("testbed.cli.benching", "measure against a peer"),
    "completion": CliCommand(
        "testbed.cli.completing", "completions of a shell for this command, or a man page", ticks=False
    ),
    "docs": CliCommand(
        "testbed.cli.documenting", "the documentation as a site: build it strictly, or serve it", ticks=False
    ),
    "release": CliCommand(
        "testbed.cli.releasing", "what a release lacks; builds its archive and wheel, uploads nothing", ticks=False
    ),
    "test": CliCommand(
        "testbed.cli.testing",
        "linters, type checks and tests; --fast: the quickest of them",
        ticks=False,
    ),
}

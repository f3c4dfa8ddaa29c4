"""`tb shell`: a scenario's network with Mininet's command line on it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from testbed.cli.dilating import add_dilation, dilated
from testbed.cli.running import require_root
from testbed.cli.values import duration
from testbed.kernel.scratch import scratch
from testbed.terminal.stream import complain

if TYPE_CHECKING:
    from testbed.worlds.emulated.session import Session

__all__ = ["configure_shell", "run_shell"]

_MININET_OUTPUT = 25
"""mininet.log.OUTPUT: what its CLI prints"""
_UNKNOWN_COMMAND = 127
_FAILED = 1
_LOOK_EVERY_S = 0.25


class _Over(BaseException):
    """The time is over, or somebody asked us to end; no handler of Mininet's may catch it."""


def configure_shell(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb shell rack                                    then: h1 ping -c 3 h2, net, dump, help, exit
  sudo ./tb shell spine-leaf-ring -c "h1 ping -c 3 h8"    one command; exit code 1 when it fails
  sudo ./tb shell my.yaml --limit 10min

Links have their rates. Switches run their program and apply the scenario's faults of packets. Hosts run only what you
start on them. When you leave, tb removes everything.
"""
    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument(
        "-c", "--command", dest="lines", action="append", default=[], metavar="CMD",
        help="run this and leave; may be repeated. Else commands come from the terminal, or as lines of stdin",
    )  # fmt: skip
    add_dilation(parser, auto=False)
    parser.add_argument(
        "--limit",
        type=duration(least_ns=1),
        default="60min",
        metavar="TIME",
        help="leave after so long (default: 60min)",
    )


def run_shell(args: argparse.Namespace) -> int:
    from testbed.scenario import load_scenario

    limit_s = args.limit / 1e9
    scenario = load_scenario(args.scenario, args.overrides, world="emulated")
    # What the user starts here keeps its own time: without a factor of the user's, so does the network.
    dilation = args.dilation or scenario.dilation or 1
    scenario = dilated(scenario, dilation, "tb shell")
    require_root(f"shell {args.scenario}")
    from testbed.kernel.interruption import Interruption
    from testbed.worlds.emulated.session import open_session

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Who starts us in the background has it ignored, the hosts' shells would inherit that, and could not be
        # interrupted.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    lines = args.lines or (None if sys.stdin.isatty() else sys.stdin.read().splitlines())
    with (
        scratch() as folder,
        Interruption() as interruption,
        open_session(scenario, folder, interruption) as session,
    ):
        try:
            with _ending_after(limit_s):
                return _converse(session, lines, dilation)
        except _Over as over:
            complain(f"tb: {over}")
            return _FAILED


@contextmanager
def _ending_after(limit_s: float) -> Iterator[None]:
    """Ctrl-C belongs to what runs in the shell; time, SIGTERM and SIGHUP end it."""

    reason = ""
    end_s = time.monotonic() + limit_s

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal reason
        if number != signal.SIGALRM:
            reason = reason or f"ended by {signal.Signals(number).name}"
        elif time.monotonic() >= end_s:
            reason = reason or "the time is over"
        if reason:
            raise _Over(reason)

    numbers = (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in numbers}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    # What is raised inside a logging handler, say, is dropped there, and a signal that comes just before readline waits
    # for a key does not wake it: the timer makes both good.
    signal.setitimer(signal.ITIMER_REAL, min(limit_s, _LOOK_EVERY_S), _LOOK_EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _converse(session: Session, lines: list[str] | None, dilation: int) -> int:
    from mininet.cli import CLI
    from mininet.log import lg

    statuses: list[int] = []

    class Conversation(CLI):  # type: ignore[misc]
        prompt = "tb> "
        # Else it writes a history into the home of whoever calls.
        readlineInited = True

        def run(self) -> None:
            if lines is None:
                super().run()
                return
            for line in lines:
                if self.onecmd(self.precmd(line)):
                    break
                self.postcmd(False, line)

        def default(self, line: str) -> None:
            super().default(line)
            node = line.split()[0]
            known = node in self.mn
            statuses.append(int(self.mn[node].cmd("echo $?")) if known else _UNKNOWN_COMMAND)

        def postcmd(self, stop: Any, line: str) -> Any:
            session.attend()
            return stop

    lg.setLevel(_MININET_OUTPUT)
    lg.ch.setLevel(_MININET_OUTPUT)
    lg.ch.setStream(sys.stdout)
    if dilation > 1:
        print(
            f"Dilation {dilation}: links have 1/{dilation} of their rates and {dilation} times their delays in real "
            "time. Programs that you start here, such as ping and iperf3, measure real time."
        )
    if lines is None:
        print("Mininet's command line: `help` lists its commands, `h1 ping -c 3 h2` runs one on a host, `exit` leaves.")
        Conversation(session.mininet)
        return 0
    # Mininet hands what it reads from stdin to the running command: here it finds an end that never says anything.
    silent, held = os.pipe()
    try:
        with os.fdopen(silent) as stdin:
            Conversation(session.mininet, stdin=stdin)
    finally:
        os.close(held)
    return _FAILED if any(statuses) else 0

"""`tb states`: visit every state of a small configuration."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.console import Console
from testbed.cli.interpreted import again_interpreted
from testbed.cli.values import named_path, whole
from testbed.terminal.standard import print_document
from testbed.terminal.stream import prose_columns
from testbed.terminal.ticker import speak
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from testbed.states.contract import Explored

__all__ = ["configure_states", "run_states"]

_MOST = 64
_MOST_MINUTES = 10_000
_EVERY_S = 10.0
_EXIT = {"pass": 0, "fail": 1, "unknown": 2}


def configure_states(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
Visits every state that a small configuration can reach, over the Machines that runs use (their Python source). Frames
of a link arrive in order, those of several links in any order. A fault loses a frame, copies it, or holds it back for
any time. A timer expires at any moment while no frame waits on a link. The first violation has the fewest faults.

exit codes: 0 no state breaks a rule, 1 one does, 2 a limit was reached, 64 usage, 130 interrupted

examples:
  ./tb states switchml
  ./tb states switchml --workers 3 --slots 1 --blocks 3 --faults 1
  ./tb states switchml --set switch.program=my.py:MyProgram
"""
    parser.add_argument(
        "scenario", metavar="SCENARIO|PROTOCOL",
        help="a protocol (`tb list protocols`) in the size of the options, or a scenario as it is, without faults",
    )  # fmt: skip
    parser.add_argument("--workers", type=whole(2, _MOST), default=2, metavar="N", help="default: 2")
    parser.add_argument("--slots", type=whole(1, _MOST), default=2, metavar="N", help="default: 2")
    parser.add_argument("--blocks", type=whole(1, _MOST), default=3, metavar="N", help="of an iteration (default: 3)")
    parser.add_argument("--faults", type=whole(0, _MOST), default=2, metavar="N", help="at most (default: 2)")
    parser.add_argument(
        "--minutes", type=whole(1, _MOST_MINUTES), metavar="M", help="stop after that time (default: no limit)"
    )
    parser.add_argument(
        "--states", type=whole(1, 10**9), default=10_000_000, metavar="N", dest="most_states",
        help="stop after that many; each takes about 500 bytes (default: 10,000,000)",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="take all steps in all states: no reduction")
    parser.add_argument("--all", action="store_true", dest="keep_going", help="look for a violation of each check")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=named_path, default=Path("states"),
        help="where the scenario of a violation is written (default: states)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout; all else on stderr")


def run_states(args: argparse.Namespace) -> int:
    code = again_interpreted(args.words, json=args.json)
    if code is not None:
        return code
    from testbed.report.document import to_json
    from testbed.scenario.protocols.named import protocol_names
    from testbed.states.configuration import keys_in_size, small_scenario
    from testbed.states.contract import SmallSize
    from testbed.states.exploration import Exploration
    from testbed.states.search import Bounds
    from testbed.states.summary import summary_text

    console = Console.of(args)
    is_protocol = args.scenario in protocol_names()
    size = SmallSize(args.workers, args.slots, args.blocks) if is_protocol else None
    explored = _explored(args.scenario) if is_protocol else None
    name = args.scenario if explored is None else explored.scenario
    keys = {} if explored is None or size is None else keys_in_size(explored, size)
    scenario = small_scenario(name, keys, args.overrides)
    explored = explored or _explored(scenario.job.protocol)
    seconds = None if args.minutes is None else 60.0 * args.minutes
    bounds = Bounds(args.faults, args.most_states, seconds, args.full, args.keep_going)
    name = scenario.name if size is None else args.scenario
    exploration = Exploration(name, scenario, explored, size, bounds, args.out)
    document = exploration.run(_reported(console.verbosity))
    if console.verbosity >= 0:
        console.stream.write(summary_text(document, prose_columns(console.stream)))
        console.stream.flush()
    if args.json:
        print_document(to_json(document))
    return _EXIT[document["verdict"]]


def _explored(protocol: str) -> Explored:
    """How states of the protocol are visited. Raises ScenarioError for one that does not say it."""
    from testbed.hunt.contract import Protocol, whole_protocol
    from testbed.scenario.protocols.known import protocols

    found = whole_protocol(protocol).states()
    if found is None:
        known = [each.name for each in protocols() if isinstance(each, Protocol) and each.states() is not None]
        raise ScenarioError(
            "states of that protocol are not visited", file="SCENARIO|PROTOCOL", found=protocol,
            allowed=", ".join(known),
        )  # fmt: skip
    return found


def _reported(verbosity: int) -> Callable[[int, int], None]:
    """Says from time to time how far it is."""
    at = time.monotonic()

    def tell(states: int, faults: int) -> None:
        nonlocal at
        if verbosity >= 0 and time.monotonic() - at >= _EVERY_S:
            at = time.monotonic()
            speak(f"{states:,} states so far, those with {faults} faults among them")

    return tell

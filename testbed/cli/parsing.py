"""argparse with our exit codes: a usage error is 64, not 2 (2 means "unknown" here)."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from testbed import __version__
from testbed.cli.commands import COMMANDS
from testbed.reading.problems import closest
from testbed.terminal.folding import fold, paragraphs
from testbed.terminal.stream import complain, prose_columns

__all__ = ["INTERRUPTED", "USAGE", "Parser", "add_global_options", "command_index", "full_parser", "make_parser"]

USAGE, INTERRUPTED = 64, 130

_EPILOG = """\
exit codes:
  0 pass, 1 fail, 2 unknown, 3 this machine lacks something (root included)
  64 usage or invalid scenario, 70 internal error, 75 lab busy or unreachable
  130 interrupted and cleaned up

examples:
  sudo ./tb demo                                  the whole thing, in about a minute
  sudo ./tb run rack-lossy --seed 7               a built-in scenario
  sudo ./tb run my.yaml --set faults[0].rate=3%   a file, with a change
  ./tb list scenarios                             what is built in
"""


_NEGATIVE = re.compile(r"-\.?[0-9]")


class _Help(argparse.HelpFormatter):
    """As wide as sentences are elsewhere; descriptions and examples keep their lines, folded where they are too
    long."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=prose_columns(sys.stdout))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return fold(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(f"{indent}{line}" for line in paragraphs(text, width - len(indent)))


class Parser(argparse.ArgumentParser):
    """Errors: one line that says what to do, exit 64."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Help, allow_abbrev=False, **options)
        # A value such as -5s is one, so that the option which has it can say what it takes; no option begins so.
        self._negative_number_matcher = _NEGATIVE
        self.surplus = ""
        """what an argument too many was meant for, in words"""
        self.late = ""
        """name of an optional argument that may also come after options, which argparse does not expect"""

    def parse_args(self, args: Any = None, namespace: Any = None) -> argparse.Namespace:  # type: ignore[override]
        """What no option takes, the chosen command refuses, which knows its own."""
        found: argparse.Namespace
        found, extra = self.parse_known_args(args, namespace)
        chosen = getattr(found, "parser", self)
        if len(extra) == 1 and chosen.late and getattr(found, chosen.late) is None and not extra[0].startswith("-"):
            setattr(found, chosen.late, extra.pop())
        if extra:
            chosen.refuse(extra)
        return found

    def refuse(self, extra: Sequence[str]) -> NoReturn:
        option = next((word.partition("=")[0] for word in extra if word.startswith("-")), None)
        if option is None:
            self.error(f"unrecognized arguments: {' '.join(extra)}" + (f"; {self.surplus}" if self.surplus else ""))
        hints = filter(None, [closest(option, self.options()), self.surplus])
        self.error("; ".join([f"there is no option {option}", *hints]))

    def options(self) -> Iterator[str]:
        """Also those of its actions (`tb card check`)."""
        for action in self._actions:
            yield from action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for child in action.choices.values():
                    yield from child.options()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = closest(value, map(str, action.choices))
            allowed = ", ".join(map(str, action.choices))
            raise argparse.ArgumentError(action, f"found {value!r}; allowed: {allowed}" + (f"; {hint}" if hint else ""))

    def error(self, message: str) -> NoReturn:
        complain(f"{self.prog}: {message}", f"`{self.prog} --help` shows how it is used")
        raise SystemExit(USAGE)


def add_global_options(parser: argparse.ArgumentParser, *, top: bool) -> None:
    """They may stand before and after the command."""
    default: Any = 0 if top else argparse.SUPPRESS
    flag: Any = False if top else argparse.SUPPRESS
    group = parser.add_argument_group("everywhere")
    group.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        default=flag,
        help="errors only, and what --json prints; the exit code is the result",
    )
    group.add_argument("-v", "--verbose", action="count", default=default, help="more; twice: everything")
    group.add_argument("--no-color", action="store_true", default=flag, help="plain text (as NO_COLOR does)")


def command_index(argv: Sequence[str]) -> int | None:
    """Where the command stands: the first word that is no option (options before it take no values)."""
    return next((index for index, word in enumerate(argv) if not word.startswith("-")), None)


def make_parser(chosen: str | None, *, everything: bool = False) -> Parser:
    """The parser of the whole command line; only the chosen command's own options are there."""
    parser = Parser(
        prog="tb",
        description="Emulate a rack that sums gradients inside the network, break it, and know bit for bit what "
        "survived.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"ina-testbed {__version__}")
    add_global_options(parser, top=True)
    if chosen is not None and chosen not in COMMANDS:
        near = closest(chosen, COMMANDS)
        hint = f"; {near}" if near else ""
        parser.error(f"there is no command {chosen!r}{hint}\ncommands: {', '.join(COMMANDS)}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name, command in COMMANDS.items():
        child = commands.add_parser(name, help=command.help, description=command.help)
        if name == chosen or everything:
            configure, run = command.load(name)
            configure(child)
            child.set_defaults(run=run, parser=child)
            add_global_options(child, top=False)
    return parser


def full_parser() -> Parser:
    """With the options of all commands, whose modules are imported for that."""
    return make_parser(None, everything=True)

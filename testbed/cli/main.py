"""From argv to an exit code. Errors that we raise on purpose say who is to blame; everything else is our own fault
(70)."""

from __future__ import annotations

import _thread
import argparse
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from testbed.cli.commands import COMMANDS
from testbed.cli.parsing import INTERRUPTED, USAGE, command_index, make_parser
from testbed.kernel.overdue import named_code
from testbed.kernel.room import lack_of, require_memory
from testbed.terminal.shellwords import shell_words
from testbed.terminal.standard import document_alone, open_standard, silence
from testbed.terminal.stream import complain
from workloads.errors import HostCapabilityError, InternalError, ScenarioError, TestbedError

__all__ = ["entry", "main"]

_OURS = {"playbooks", "switch_nodes", "testbed", "topologies", "workloads"}
_SUPPLY = {
    "mininet": "apt-get install mininet, and an environment of /usr/bin/python3 with --system-site-packages",
    "os_ken": "pip install os-ken",
    "pyverbs": "apt-get install python3-pyverbs, and an environment of /usr/bin/python3 with --system-site-packages",
    "sklearn": "pip install scikit-learn",
    "yaml": "pip install PyYAML",
}
"""package -> how it is had, where `pip install PACKAGE` is not the way"""
_CONTAINED = {"switch", "test", "completion"}
"""`tb switch` runs its program apart and passes signals on; the others run no such code"""
_JUDGED = {"run", "replay", "demo", "train", "up"}
"""commands whose exit code 0 stands for a written result.json"""
_AGAIN_S = 0.02
_UNUSABLE = {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS}
_INTERNAL, _PIPE_CLOSED = 70, 141


def entry() -> int:
    """The command of this process. One that names code of the user's own runs in a child: this process decides the exit
    code, and runs none of that code."""
    open_standard()
    words = sys.argv[1:]
    code = named_code(words)
    index = command_index(words)
    command = "" if index is None else words[index]
    if not code or command in _CONTAINED or not {"-h", "--help"}.isdisjoint(words) or not hasattr(os, "fork"):
        return main(words, _catch_interrupts)
    from testbed.kernel.supervised import supervised

    try:
        return supervised(lambda: main(words, _catch_interrupts), code, judged=command in _JUDGED)
    except TestbedError as error:
        return _explain(error)


def main(argv: Sequence[str] | None = None, ready: Callable[[], None] = lambda: None) -> int:
    """Runs one command. Never raises but for SystemExit of --help and usage errors' siblings, which it turns into
    codes. `ready` is called before the command begins its work."""
    words = list(sys.argv[1:] if argv is None else argv)
    began = time.time()
    try:
        return _run(words, ready)
    except KeyboardInterrupt:
        complain("tb: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away; nothing can be told any more, not even at exit.
        silence(sys.stdout.fileno())
        return _PIPE_CLOSED
    except Exception as error:
        if _is_interrupt(error):
            complain("tb: interrupted")
            return INTERRUPTED
        error = _of_named_path(error, words) or error
        if isinstance(error, TestbedError) and not isinstance(error, InternalError):
            return _explain(error)
        lack = _lack_of(error, words)
        return _crashed(error, words, began) if lack is None else _explain(lack)


def _run(words: list[str], ready: Callable[[], None]) -> int:
    try:
        args = _parse(words)
        args.words = words
        require_memory(_command(words))
        alone = getattr(args, "json", False) or getattr(args, "resolved", False) or args.command == "graph"
        with document_alone() if alone else nullcontext(), _ticking(args):
            ready()
            code = int(args.run(args))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else USAGE
    sys.stdout.flush()  # at exit, what cannot be written would have no exit code of ours
    return code


def _catch_interrupts() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, so that the command cleans up. Before, it ended the process at once
    (`testbed.__main__`)."""
    if callable(signal.getsignal(signal.SIGINT)):  # not ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = _unraisable


def _unraisable(found: sys.UnraisableHookArgs) -> None:
    """Where nothing can be raised, as in `__del__`, an interruption would only be printed: it comes again."""
    if issubclass(found.exc_type, KeyboardInterrupt):
        again = threading.Timer(_AGAIN_S, _thread.interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(found)


def _parse(words: list[str]) -> argparse.Namespace:
    index = command_index(words)
    chosen = None if index is None else words[index]
    parser = make_parser(chosen)
    if index is None:
        parser.parse_args(words)
        parser.print_help()
        raise SystemExit(USAGE)
    if chosen == "test" and words[index + 1 : index + 2] not in (["-h"], ["--help"]):
        # What follows, or what follows --fast, belongs to pytest, options included.
        end = index + 2 if words[index + 1 : index + 2] == ["--fast"] else index + 1
        args = parser.parse_args(words[:end])
        args.pytest_args = words[end:]
        return args
    if chosen == "train" and "--" in words[index:]:
        # What follows is a command with options of its own.
        end = words.index("--", index)
        args = parser.parse_args(words[:end])
        args.rank_command = words[end + 1 :]
        return args
    return parser.parse_args(words)


def _ticking(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Progress on stderr, whatever the command prints."""
    if args.quiet or not COMMANDS[args.command].ticks:
        return nullcontext()
    from testbed.terminal.stream import wants_color
    from testbed.terminal.ticker import Ticker, ticking

    return ticking(Ticker(sys.stderr, f"tb {args.command}", live=wants_color(sys.stderr, args.no_color)))


def _explain(error: TestbedError) -> int:
    # An error that begins with the command has said who speaks.
    complain(*(line if line.startswith("tb ") else f"tb: {line}" for line in str(error).splitlines()))
    return error.exit_code


def _is_interrupt(error: BaseException | None) -> bool:
    """Python makes another error of a KeyboardInterrupt in some places, as in `__set_name__`."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__
    return False


def _of_named_path(error: Exception, words: list[str]) -> ScenarioError | None:
    """The user's own fault: a path of the command line is none that can be used."""
    if not isinstance(error, OSError) or error.errno not in _UNUSABLE or not isinstance(error.filename, str):
        return None
    place, before = os.path.abspath(error.filename), ""
    for word in words:
        value = word.partition("=")[2] if word.startswith("-") else word
        if value and f"{place}/".startswith(f"{os.path.abspath(value)}/"):
            key = word.partition("=")[0] if word.startswith("-") else before
            return ScenarioError(
                "cannot be used", file=error.filename, key=key or None, found=error.strerror,
                allowed="a path that this user can read and write",
            )  # fmt: skip
        before = word if word.startswith("--") else ""
    return None


def _lack_of(error: Exception, words: list[str]) -> HostCapabilityError | None:
    """What this machine lacks, where that is all that went wrong."""
    if isinstance(error, ModuleNotFoundError):
        return _lacking(error, words)
    return lack_of(error, Path.cwd(), _command(words))


def _lacking(error: ModuleNotFoundError, words: list[str]) -> HostCapabilityError | None:
    """None where a module of ours or of Python is missing: that is our own fault."""
    package = (error.name or "").partition(".")[0]
    if not package or package in _OURS or package in sys.stdlib_module_names:
        return None
    checkout = Path(__file__).resolve().parents[2] / "tb"
    call = shell_words([str(checkout) if checkout.exists() else "tb", *words])
    by_hand = _SUPPLY.get(package, f"pip install {package}")
    remedy = f"./tb makes an environment that has it: {call}" if checkout.exists() else f"to have it: {by_hand}"
    return HostCapabilityError(f"the Python package {package} for {sys.executable}", remedy)


def _command(words: list[str]) -> str:
    index = command_index(words)
    return "tb" if index is None else f"tb {words[index]}"


def _crashed(error: Exception, words: list[str], began: float) -> int:
    from testbed.cli.crash import report_crash

    report_crash(error, words, began)
    return _INTERNAL

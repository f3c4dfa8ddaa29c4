"""From argv to an exit code. Errors that we raise on purpose say who is to blame; everything else is our own fault (70)."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from testbed.cli.parsing import USAGE, command_index, make_parser
from testbed.terminal.stream import complain
from workloads.errors import HostCapabilityError, InternalError, TestbedError

__all__ = ["main"]

_INTERNAL, _INTERRUPTED, _PIPE_CLOSED = 70, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Never raises but for SystemExit of --help and usage errors' siblings, which it turns into codes."""
    words = list(sys.argv[1:] if argv is None else argv)
    began = time.time()
    try:
        args = _parse(words)
        return int(args.run(args))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else USAGE
    except KeyboardInterrupt:
        complain("tb: interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away; nothing can be told any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except InternalError as error:
        return _crashed(error, words, began)
    except TestbedError as error:
        return _told(error)
    except MemoryError as error:
        return _told(_too_large(error, words))
    except Exception as error:
        return _crashed(error, words, began)


def _parse(words: list[str]) -> argparse.Namespace:
    index = command_index(words)
    chosen = None if index is None else words[index]
    parser = make_parser(chosen)
    if index is None:
        parser.parse_args(words)
        parser.print_help()
        raise SystemExit(USAGE)
    if chosen == "test" and words[index + 1 : index + 2] not in (["-h"], ["--help"]):
        # What follows belongs to pytest, options included.
        args = parser.parse_args(words[: index + 1])
        args.pytest_args = words[index + 1 :]
        return args
    return parser.parse_args(words)


def _told(error: TestbedError) -> int:
    # An error that begins with the command has said who speaks.
    complain(*(line if line.startswith("tb ") else f"tb: {line}" for line in str(error).splitlines()))
    return error.exit_code


def _too_large(error: MemoryError, words: list[str]) -> HostCapabilityError:
    index = command_index(words)
    command = "tb" if index is None else f"tb {words[index]}"
    more = f" ({error})" if str(error) else ""
    return HostCapabilityError(
        f"enough memory for {command}{more}", "smaller sizes need less: size, scale, workload.elements, number of jobs"
    )


def _crashed(error: Exception, words: list[str], began: float) -> int:
    from testbed.cli.crash import report_crash

    report_crash(error, words, began)
    return _INTERNAL

"""Exit codes, and the errors behind them."""

from __future__ import annotations

import inspect

import workloads.errors
from testbed.cli.parsing import INTERRUPTED
from testbed.history.verdict import EXIT_CODES, Verdict
from testbed.manual.tables import code, table
from workloads.errors import TestbedError

__all__ = ["all_errors", "exit_codes"]

_VERDICTS = {
    Verdict.PASS: "Every check passed.",
    Verdict.FAIL: "A check found a violation. The output names it.",
    Verdict.UNKNOWN: "No check found a violation, but evidence is missing.",
}


def exit_codes() -> str:
    rows = [(code(EXIT_CODES[verdict]), verdict.value, meaning) for verdict, meaning in _VERDICTS.items()]
    rows += [(code(kind.exit_code), code(kind.__name__), _first_line(kind)) for kind in _kinds()]
    rows.append((code(INTERRUPTED), "interrupted", "The command was interrupted, and removed what it had made."))
    return table(("code", "verdict or error", "meaning"), rows)


def all_errors() -> str:
    """Each error with the facts that its message has."""
    parts = []
    for kind in _kinds():
        parameters = [name for name in inspect.signature(kind).parameters if name != "args"]
        facts = f" Its parts: {', '.join(map(code, parameters))}." if parameters else ""
        parts.append(f"### {kind.__name__}\n\n{_first_line(kind)} Exit code {code(kind.exit_code)}.{facts}\n")
    return "\n".join(parts)


def _kinds() -> list[type[TestbedError]]:
    found = (getattr(workloads.errors, name) for name in workloads.errors.__all__)
    return sorted((kind for kind in found if kind is not TestbedError), key=lambda kind: kind.exit_code)


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().split("\n\n")[0]

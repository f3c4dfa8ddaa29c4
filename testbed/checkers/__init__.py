"""From a history (and captures) to verdicts. `run_checks` applies every registered checker; `judge_fidelity` judges the
machine apart from them, because a slow machine says nothing about correctness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.checkers.checker import Check, Checker
    from testbed.checkers.context import CheckContext
    from testbed.checkers.exercised import strikes
    from testbed.checkers.fidelity import judge_fidelity
    from testbed.checkers.registry import (
        Checked,
        Skipped,
        checkers,
        judges_of,
        register_checker,
        run_checks,
    )

__all__ = [
    "Check",
    "CheckContext",
    "Checked",
    "Checker",
    "Skipped",
    "checkers",
    "judge_fidelity",
    "judges_of",
    "register_checker",
    "run_checks",
    "strikes",
]

__getattr__ = lazily(
    __name__,
    {
        "Check": ".checker",
        "CheckContext": ".context",
        "Checked": ".registry",
        "Checker": ".checker",
        "Skipped": ".registry",
        "checkers": ".registry",
        "judge_fidelity": ".fidelity",
        "judges_of": ".registry",
        "register_checker": ".registry",
        "run_checks": ".registry",
        "strikes": ".exercised",
    },
)

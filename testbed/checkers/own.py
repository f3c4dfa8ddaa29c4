"""A checker of the user's own, `path.py:function`, as `--check` names it."""

from __future__ import annotations

from testbed.checkers.checker import Checker
from testbed.checkers.context import CheckContext
from testbed.history.verdict import CheckResult
from testbed.scenario.own_code import guarded, load_own
from workloads.errors import ScenarioError

__all__ = ["load_checker"]


def load_checker(name: str) -> Checker:
    """Its name is the function's. Raises ScenarioError for a file that is not there or cannot be loaded, and for one
    without that function."""
    if ":" not in name:
        raise ScenarioError("no checker of your own", file="--check", found=repr(name), allowed="PATH.py:FUNCTION")
    function = load_own(name, "checker", _is_function, file="--check")

    def check(context: CheckContext) -> CheckResult:
        result = guarded(function, name, "checker")(context)
        if not isinstance(result, CheckResult):
            raise TypeError(f"it gave {type(result).__name__}, which is no CheckResult")
        return result

    return Checker(name.rpartition(":")[2], check, (function.__doc__ or "what its author says").strip(), own=True)


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)

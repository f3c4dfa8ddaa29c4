"""A checker of the user's own, `path.py:function`, as `--check` names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.checkers.checker import Checker
from testbed.checkers.of_protocol import checkers_of
from testbed.checkers.registry import checkers
from testbed.scenario.protocols.own_code import guarded, is_own_code, load_own
from workloads.errors import ScenarioError

__all__ = ["load_checker", "load_checkers"]


def load_checker(name: str) -> Checker:
    """Its name is the function's. Raises ScenarioError for a file that is not there or cannot be loaded, and for one
    without that function."""
    if ":" not in name:
        raise ScenarioError("no checker of your own", file="--check", found=repr(name), allowed="PATH.py:FUNCTION")
    function = load_own(name, "checker", _is_function, file="--check")
    doc = function.__doc__
    proves = (doc if isinstance(doc, str) else "").strip() or "what its author says"
    return Checker(name.rpartition(":")[2], guarded(function, name, "checker"), proves, own=True)


def load_checkers(names: Sequence[str], protocols: Iterable[str]) -> dict[str, Checker]:
    """By `path.py:function`. Raises ScenarioError as `load_checker`, and where two checkers of a run have one name:
    those of the testbed, those of protocols of the user's own, and these."""
    taken = {checker.name: "the testbed" for checker in checkers()}
    for protocol in filter(is_own_code, dict.fromkeys(protocols)):
        for checker in checkers_of(protocol):
            _take(taken, checker.name, protocol, file=protocol.rpartition(":")[0] or protocol)
    found = {name: load_checker(name) for name in names}
    for name, checker in found.items():
        _take(taken, checker.name, name, file="--check")
    return found


def _take(taken: dict[str, str], name: str, owner: str, *, file: str) -> None:
    if name in taken:
        raise ScenarioError(
            f"there is a checker of this name already, of {taken[name]}", file=file, found=f"{name!r} of {owner}",
            allowed="any other name",
        )  # fmt: skip
    taken[name] = owner


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)

"""The types of what a protocol of the user's own defines."""

from __future__ import annotations

from typing import Any

from testbed.scenario.protocols.own_code import methods_of
from testbed.scenario.protocols.protocol import KnownProtocol
from workloads.errors import ScenarioError
from workloads.ownvalues import Allowed, misfit, shown

__all__ = ["CHECKER", "require_types", "wrong_field"]


def _is_checker(each: Any) -> bool:
    texts, functions = (each.name, each.proves), (each.check, each.skip)
    return (
        all(isinstance(text, str) and text.strip() for text in texts)
        and all(map(callable, functions))
        and type(each.of_run) is bool
    )


CHECKER = Allowed(
    "a Checker: name and proves are text that is not empty, check and skip are functions, of_run is True or False",
    _is_checker,
)


def require_types(found: KnownProtocol, name: str) -> None:
    """`name`: `path.py:NAME`. Raises ScenarioError for a field of another type, and for a method that is none."""
    wrong = misfit(found, KnownProtocol)
    if wrong is None and not found.name.strip():
        wrong = "name", found.name, "text that is not empty"
    if wrong is None:
        each = ((method, getattr(found, method)) for method in methods_of(found))
        wrong = next(((method, value, "a function") for method, value in each if not callable(value)), None)
    if wrong is not None:
        raise wrong_field(name, *wrong)


def wrong_field(name: str, field: str, value: object, allowed: str) -> ScenarioError:
    path, _, title = name.rpartition(":")
    return ScenarioError(
        "the protocol cannot have this", file=path, key=f"{title}.{field}", found=shown(value), allowed=allowed
    )

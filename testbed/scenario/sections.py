"""Checks that name the sections which they need as their parameters, and are called when those are there and good."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from testbed.scenario.own_code import require
from testbed.scenario.protocol import SectionCheck
from workloads.ownvalues import NOTHING, Allowed

__all__ = ["call_check"]

_PARAMETERS = "has a parameter that names no section"
_MAY_MISS = ("routing",)
"""sections that a check must expect to be absent, as None"""


def call_check(check: SectionCheck, sections: Mapping[str, object]) -> None:
    """With what its parameters name of `sections`; not at all where one of those is None. A parameter with a default
    may be missing in `sections`. Raises ScenarioError for a check of the user's own that asks for other things."""
    given, known = {}, Allowed(", ".join(sections), lambda found: False)
    try:
        parameters = inspect.signature(check).parameters
    except (TypeError, ValueError):  # a function without one, of C
        require(check, check, known, _PARAMETERS)
        raise
    for name, parameter in parameters.items():
        if name in sections:
            if sections[name] is None and name not in _MAY_MISS:
                return
            given[name] = sections[name]
        elif parameter.default is inspect.Parameter.empty:
            require(check, name, known, _PARAMETERS)
            raise TypeError(
                f"{check.__module__}.{check.__qualname__}: no section is called {name}; there are {', '.join(sections)}"
            )
    call: Callable[..., Any] = check
    require(check, call(**given), NOTHING)

"""Checks that name the sections which they need as their parameters, and are called when those are there and good."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from testbed.scenario.protocol import SectionCheck

__all__ = ["call_check"]

_MAY_MISS = ("routing",)
"""sections that a check must expect to be absent, as None"""


def call_check(check: SectionCheck, sections: Mapping[str, object]) -> None:
    """With what its parameters name of `sections`; not at all where one of those is None. A parameter with a default
    may be missing in `sections`."""
    given = {}
    for name, parameter in inspect.signature(check).parameters.items():
        if name in sections:
            if sections[name] is None and name not in _MAY_MISS:
                return
            given[name] = sections[name]
        elif parameter.default is inspect.Parameter.empty:
            raise TypeError(
                f"{check.__module__}.{check.__qualname__}: no section is called {name}; there are {', '.join(sections)}"
            )
    check(**given)

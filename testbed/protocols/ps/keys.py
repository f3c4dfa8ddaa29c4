"""The keys that protocol `ps` adds to `job`."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.reading.fields import BoolKey
from testbed.reading.sections import Section

__all__ = ["PsKeys"]


@dataclass(frozen=True, slots=True)
class PsKeys(Section):
    """Which optimisations the parameter server has."""

    aggregation: BoolKey = False
    """switches add packets wherever they meet on their way up"""
    multicast: BoolKey = False
    """the server sends each sum once, and switches copy it where paths part; `false`: once to each worker"""
    streaming: BoolKey = True
    """each sum leaves the server when it is complete; `false`: when all of the iteration are, as closed forms count
    (push, then pull). The window then is the whole gradient, and floats do not travel"""

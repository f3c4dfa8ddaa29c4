"""What a caller chooses of a run, besides its scenario and its world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.runs.attempts import Say

__all__ = ["RunOptions"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is compared, judged and limited."""

    twin: bool = True
    """an emulated run is compared with the reference run, the same plan in virtual time"""
    say: Say = lambda text: None
    """hears what goes on around the run: calibration, attempts, the reference run"""
    checks: Sequence[str] = ()
    """checkers of the user's own, each `path.py:function`"""
    real_limit_s: float | None = None
    """a simulated run ends after so much real time, with verdict unknown; None: it has no such limit"""

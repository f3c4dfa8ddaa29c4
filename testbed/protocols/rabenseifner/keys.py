"""The keys that protocol `rabenseifner` adds to `job`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.reading.fields import choice
from testbed.reading.sections import Section

__all__ = ["RabenseifnerKeys"]

_NEAR, _FAR = ("near", "far")


@dataclass(frozen=True, slots=True)
class RabenseifnerKeys(Section):
    """In which order ranks meet."""

    partners: Annotated[str, choice((_NEAR, _FAR))] = _NEAR
    """partner of a rank in the first step, with the largest halves: `near`, its neighbour, so that little leaves a
    rack; `far`, the rank half of all ranks away, as the algorithm is often given"""

    @property
    def far_first(self) -> bool:
        return self.partners == _FAR

"""Tables of plans, and what they are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Say", "Table", "generator"]

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    missed: tuple[str, ...] = ()
    """expectations that do not hold"""


def generator(seed: int) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(seed)

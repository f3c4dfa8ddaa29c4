"""What `tb bench` asks of a protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.scale.contract import ScaledProtocol

if TYPE_CHECKING:
    from testbed.bench.options import BenchOptions
    from testbed.bench.papers.headline import Headline
    from testbed.bench.rows import Report, Row

__all__ = ["Bench", "MeasuredProtocol"]


@dataclass(frozen=True, slots=True)
class Bench:
    name: str
    """name, as in `tb bench NAME`"""
    run: Callable[[Callable[[str], None], str, BenchOptions], Report | list[Row]]
    """(where progress goes, world, options) -> rows"""
    worlds: tuple[str, ...]
    """worlds that it can measure in; the first one is the default"""
    options: tuple[str, ...] = ()
    """names of the fields of BenchOptions that it uses"""
    plans: Callable[[str, int | None, bool], int] | None = None
    """what `--plan-only` makes without a run: (tables by name, seeds, whether as JSON) -> exit code. None: nothing"""


class MeasuredProtocol(ScaledProtocol):
    """The methods that say what is measured of a protocol."""

    def benches(self) -> tuple[Bench, ...]:
        """Commands `tb bench NAME` of its own."""
        return ()

    def headlines(self) -> tuple[Headline, ...]:
        """Figures of its papers, for `tb bench papers`."""
        return ()

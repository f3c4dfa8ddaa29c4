"""The keys that protocol `repair` adds to `job`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from testbed.reading.fields import choice, whole, whole_or_list
from testbed.reading.sections import Key, Section
from workloads.codes import CODES
from workloads.repair.config import OPS, CodeShare

__all__ = ["MOST_NODES", "RepairKeys"]

MOST_NODES = 255


@dataclass(frozen=True, slots=True)
class RepairKeys(Section):
    """The code, the lost node, its donors."""

    code: Annotated[str, choice(tuple(CODES))] = "rs"
    """`rs` (Reed-Solomon), `msr`, `mbr` (product-matrix codes)"""
    n: Annotated[int, whole(2, MOST_NODES)] = 5
    """nodes of the code"""
    k: Annotated[int, whole(1, MOST_NODES - 1)] = 3
    """nodes that are enough to restore the file: any k of the n"""
    d: Annotated[int | None, whole(1, MOST_NODES - 1), Key(shown="`rs`: k; others: n - 1")] = None
    """donors: the job has d + 1 hosts, the newcomer being the last one"""
    lost: Annotated[int, whole(0, MOST_NODES - 1)] = 0
    """node that is repaired, from 0"""
    donors: Annotated[
        int | tuple[int, ...] | None, whole_or_list(0, MOST_NODES - 1), Key(shown="the first d others")
    ] = None
    """nodes that repair it, in rank order: `[0, 2, 3, 4]`"""
    combine: Annotated[str, choice(OPS)] = "xor"
    """node that multiplies by a donor's coefficient: `xor`, the donor, so that switches only add; `gf256`, the node
    that combines, and the packet names the coefficient"""

    @property
    def donors_wanted(self) -> int:
        """d"""
        return self.d if self.d is not None else self.k if self.code == "rs" else self.n - 1

    @property
    def share(self) -> CodeShare:
        """The configuration that hosts get."""
        others = [node for node in range(self.n) if node != self.lost]
        given = self.donors if self.donors is not None else tuple(others[: self.donors_wanted])
        nodes = given if isinstance(given, tuple) else (given,)
        return CodeShare(self.code, self.n, self.k, self.donors_wanted, self.lost, nodes)

"""A linear code whose nodes can be repaired: what each node stores, what a donor sends, what the newcomer computes.

A file is B symbols, a node stores alpha of them, a donor sends one (beta = 1). A symbol is a row of bytes. Its length
is free. So a code is a few small matrices, and data are arrays of shape (symbols, bytes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workloads.codes.gf256 import Bytes, combine, invert

__all__ = ["LinearCode"]


@dataclass(frozen=True, slots=True)
class LinearCode:
    """Matrices are over GF(2^8)."""

    n: int
    """nodes"""
    k: int
    """number of nodes that together have the whole file, whichever they are"""
    d: int
    """donors of a repair"""
    alpha: int
    """symbols that a node stores"""
    generator: Bytes
    """shape (n alpha, file symbols): what the nodes store, node by node"""
    questions: Bytes
    """shape (n, alpha): what each donor multiplies its symbols with, for each node that may be lost"""
    answers: Bytes
    """shape (n, d'): each donor's symbol in terms of the unknowns that the newcomer solves for. A shortened code has d'
    above d: the nodes behind the n-th are all zero, and take part. Otherwise d' is d"""
    results: Bytes = field(repr=False)
    """shape (n, alpha, d'): what each lost node stored, of the same unknowns"""

    @property
    def file_symbols(self) -> int:
        """B"""
        return int(self.generator.shape[1])

    def encode(self, file: Bytes) -> Bytes:
        """The file, shape (B, bytes): what the nodes store, shape (n, alpha, bytes)."""
        return combine(self.generator, file).reshape(self.n, self.alpha, file.shape[1])

    def store(self, file: Bytes, node: int) -> Bytes:
        """What one node stores, shape (alpha, bytes)."""
        return combine(self.generator[node * self.alpha : (node + 1) * self.alpha], file)

    def decode(self, nodes: Sequence[int], stored: Bytes) -> Bytes:
        """The file of any k nodes; `stored`: shape (k, alpha, bytes). Raises ValueError for another number of nodes,
        or nodes twice."""
        if len(nodes) != self.k or len(set(nodes)) != self.k:
            raise ValueError(f"a file is decoded of {self.k} different nodes, not of {list(nodes)}")
        rows = [node * self.alpha + symbol for node in nodes for symbol in range(self.alpha)]
        chosen, independent = _independent(self.generator[rows])
        data = stored.reshape(len(rows), -1)
        return combine(invert(independent), data[chosen])

    def donate(self, lost: int, stored: Bytes) -> Bytes:
        """What a donor sends of what it stores, shape (alpha, bytes): one symbol, shape (bytes,)."""
        symbol: Bytes = combine(self.questions[lost : lost + 1], stored)[0]
        return symbol

    def repair_matrix(self, lost: int, donors: Sequence[int]) -> Bytes:
        """Shape (alpha, d): what the donors' symbols are multiplied with. Raises ValueError for other than d donors,
        a donor twice, or the lost node among them."""
        if len(donors) != self.d or len({*donors, lost}) != self.d + 1:
            raise ValueError(f"node {lost} is repaired by {self.d} others, not by {list(donors)}")
        zeros = self.answers.shape[1] - self.d
        rows = [*donors, *range(self.n, self.n + zeros)]
        return combine(self.results[lost], invert(self.answers[rows]))[:, : self.d]

    def repair(self, lost: int, donors: Sequence[int], symbols: Bytes) -> Bytes:
        """What the lost node stored, shape (alpha, bytes), of the donors' symbols, shape (d, bytes)."""
        return combine(self.repair_matrix(lost, donors), symbols)


def _independent(rows: Bytes) -> tuple[list[int], Bytes]:
    """As many of the rows as there are columns, none a combination of others. Raises ValueError when there are too
    few."""
    columns = rows.shape[1]
    chosen: list[int] = []
    reduced = np.zeros((0, columns), np.uint8)
    leads: list[int] = []
    for number, row in enumerate(rows):
        rest = row.copy()
        for lead, basis in zip(leads, reduced, strict=True):
            if rest[lead]:
                rest ^= combine(np.array([[rest[lead]]], np.uint8), basis[None])[0]
        found = np.flatnonzero(rest)
        if len(found):
            lead = int(found[0])
            scaled = combine(invert(np.array([[rest[lead]]], np.uint8)), rest[None])
            reduced = np.concatenate([reduced, scaled])
            leads.append(lead)
            chosen.append(number)
        if len(chosen) == columns:
            return chosen, rows[chosen]
    raise ValueError("these nodes do not have the file")

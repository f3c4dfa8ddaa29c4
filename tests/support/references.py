"""What collectives must come to, written another way than the code that does them."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from testbed.plan import Plan
from workloads.gradients import create_source

Rows = NDArray[np.generic]
"""shape (P, elements)"""


def contributions(plan: Plan, iteration: int) -> Rows:
    """Every rank's gradient (of a workload that does not learn)."""
    rows = []
    for worker in plan.workers:
        c = worker.collective
        source = create_source(worker.workload, c.rank, c.size, c.arithmetic.dtype)
        rows.append(source.gradient(iteration).copy())
    return np.stack(rows)


def flat_fold(rows: Rows, op: str, dtype: str) -> Rows:
    """Left to right over the ranks, element by element type."""
    if op == "max":
        return rows.max(axis=0)
    if op == "xor":
        return np.bitwise_xor.reduce(rows.view(np.uint32), axis=0).view(rows.dtype)
    if dtype == "int32sat":
        return np.clip(rows.astype(object).sum(axis=0), -(2**31), 2**31 - 1).astype(np.int32)
    total = rows[0]
    for row in rows[1:]:
        total = total + row
    return total


def ring_fold(rows: Rows, op: str, dtype: str) -> Rows:
    """Chunk c is folded in the order c, c+1, ... of the ranks."""
    size = len(rows)
    chunks = [np.array_split(row, size) for row in rows]
    parts = []
    for chunk in range(size):
        order = [chunks[(chunk + i) % size][chunk] for i in range(size)]
        parts.append(flat_fold(np.stack(order), op, dtype))
    return np.concatenate(parts)


def sha256(vector: Rows) -> str:
    return hashlib.sha256(np.ascontiguousarray(vector).tobytes()).hexdigest()

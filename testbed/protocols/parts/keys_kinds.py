"""Which ring runs an operation of a job."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["RING_KINDS"]

RING_KINDS: Mapping[str, str] = {"reduce_scatter": "ring_reduce_scatter", "all_gather": "ring_all_gather"}
"""of the connections, by `job.operation`; as the protocol for others"""

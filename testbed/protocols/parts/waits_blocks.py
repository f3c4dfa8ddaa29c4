"""What a worker that sends blocks in a window waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from testbed.explain.contract import NodeWait

__all__ = ["waits_for_blocks"]


def waits_for_blocks(
    name: str, worker: Any, summing: str, outstanding: Iterable[tuple[int, int]]
) -> Iterator[NodeWait]:
    """`outstanding`: (block, deadline of its timer, negative: none) of what was sent. `summing`: node that answers."""
    if worker.finished or worker.failed:
        return
    if worker._tensor is None:
        yield NodeWait(name, "the start of its iteration", name, worker._training.get_timer())
        return
    for block, deadline in outstanding:
        yield NodeWait(name, f"the result of block {block}", summing, deadline if deadline >= 0 else None)

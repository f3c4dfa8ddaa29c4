"""What a compiled loop asks of a Machine instead of its five verbs: the same questions, with types and without Python
in between.

A Machine offers it as its attribute `quick`, and answers its verbs by it, so that both are one implementation. A loop
takes it by `quick_of`, which turns back to the verbs where a subclass has a verb of its own.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import cython

from workloads.machine import Event

if not cython.compiled:
    from workloads.kernels import NEVER

__all__ = ["Quick", "quick_of"]

_VERBS = ("receive_frame", "frames_to_send", "get_timer", "handle_timer", "next_event")


class Quick:
    """`take` is receive_frame, `give` the next of frames_to_send, `due` get_timer, `wake` handle_timer. A host gives
    its frames, all on port 0; a switch puts them into `outbox`."""

    def __init__(self, events: deque[Event], outbox: deque[tuple[int, Any]]) -> None:
        self.events, self.outbox = events, outbox

    def take(self, port: int, frame: bytes, now: int) -> None:
        raise NotImplementedError

    def give(self, now: int) -> bytes | None:
        return None

    def due(self) -> int:
        return NEVER

    def wake(self, now: int) -> None:
        pass


def quick_of(machine: object) -> Quick | None:
    """None: by the verbs."""
    for kind in type(machine).__mro__:
        if "quick" in vars(kind):
            found = getattr(machine, "quick", None)
            return found if isinstance(found, Quick) else None
        if any(verb in vars(kind) for verb in _VERBS):
            return None
    return None

"""Steps of the tables that hunts count, and those of parameter servers that no run takes, with reasons."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from workloads.server.tables import BLOCK_TABLE, BlockState

__all__ = ["NO_REMINDER", "ONE_SIZE", "OVERRUN", "SERVER_STEPS", "never_in_blocks", "steps_of"]


def steps_of(table: str, pairs: Iterable[tuple[Enum, Enum]]) -> tuple[str, ...]:
    """Names, by (state, event)."""
    return tuple(dict.fromkeys(f"{table} {state.name}/{event.name}".lower() for state, event in pairs))


def never_in_blocks(event: str, reason: str) -> dict[str, str]:
    """In no state of a block of a parameter server."""
    return {f"block {state.name.lower()}/{event}": reason for state in BlockState}


SERVER_STEPS = steps_of("block", BLOCK_TABLE)
ONE_SIZE = "a block has one size at all of its workers, also when one starts anew: only forged packets differ"
OVERRUN = "who sends a block has the result of the one a window before; a packet that says otherwise fails credit_bound"
NO_REMINDER = "an ATP server asks workers, never a switch, so that none answers that it has nothing"

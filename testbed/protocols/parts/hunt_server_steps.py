"""Steps of parameter servers that hunts count, and those that no run takes, with reasons."""

from __future__ import annotations

from workloads.server.tables import BLOCK_TABLE, BlockState

__all__ = ["NO_REMINDER", "ONE_SIZE", "OVERRUN", "SERVER_STEPS", "never_in_blocks"]


def never_in_blocks(event: str, reason: str) -> dict[str, str]:
    """In no state of a block of a parameter server."""
    return {f"block {state.name.lower()}/{event}": reason for state in BlockState}


SERVER_STEPS = BLOCK_TABLE.steps
ONE_SIZE = "a block has one size at all of its workers, also when one restarts: only forged packets differ"
OVERRUN = "who sends a block has the result of the one a window before; a packet that says otherwise fails credit_bound"
NO_REMINDER = "an ATP server asks workers, never a switch, so that none answers that it has nothing"

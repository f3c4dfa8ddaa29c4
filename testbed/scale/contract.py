"""What fast paths for large systems ask of a protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.checkers.contract import JudgedProtocol

if TYPE_CHECKING:
    from testbed.scale.model import RackModel

__all__ = ["ScaledProtocol"]


class ScaledProtocol(JudgedProtocol):
    """The method that says how long it takes, without packets."""

    def rack_model(self) -> RackModel | None:
        """Its model on a rack, at the level of messages and of flows. None: there is none."""
        return None

"""The charge of one packet: which (port, class) of a switch's buffer it counts towards, until it has left."""

from __future__ import annotations

from collections.abc import Callable

from switch_nodes.lossless.buffer import Account

__all__ = ["Charge"]


class Charge:
    """Held by the switch while its program handles the packet, and by each copy that waits at a port. A packet that
    leaves by several ports is stored once."""

    __slots__ = ("_holders", "_released", "account", "size")

    def __init__(self, account: Account, size: int, released: Callable[[Charge], None]) -> None:
        self.account, self.size, self._released = account, size, released
        self._holders = 1

    def keep(self) -> None:
        """One more holds it."""
        self._holders += 1

    def drop(self) -> None:
        """One holds it no longer; the last one releases it."""
        self._holders -= 1
        if not self._holders:
            self._released(self)

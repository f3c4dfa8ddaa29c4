"""What a capture receives."""

from __future__ import annotations

from typing import Protocol

from workloads.machine import Buffer, FrameBatch

__all__ = ["Tap"]


class Tap(Protocol):
    """Sees what the Machine sees: frames behind the ingress filter and before the egress filter. It must copy what it
    keeps and must not block, since it runs inside the loop."""

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        """Rows start..stop-1 are about to enter the Machine, or have just left it (`outgoing`). `now` in ns."""
        ...

    def record_frame(self, port: int, frame: Buffer, now: int, outgoing: bool) -> None:
        """As `record`, of one frame."""
        batch = FrameBatch.of(1, len(frame))
        batch.append(port, frame)
        self.record(batch, 0, 1, now, outgoing)

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        """A frame was lost on a port. `reason` is `filter` (a fault), `queue` (drop-tail), `early` (for its class),
        `link` (the interface is down) or `misfit` (too long for the MTU, or no Ethernet header). An outgoing one was
        recorded before; an incoming one was not."""
        ...

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        """The queue of a port was full: of an outgoing frame that was recorded before, `frame` is what goes on."""
        ...

    def close(self) -> None:
        """No more frames will come."""
        ...

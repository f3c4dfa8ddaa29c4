"""When a frame has arrived: with its last bit, one frame after the other, as on a wire.

The queue in front of a link (HTB) lets a frame go when its first bit would leave, and what it saved up at once. A port
that wants to be exact keeps the account of the wire itself and hands a frame over when the wire has carried all of it.
That needs a wake-up per frame, so it is for links whose frames take long enough in real time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from switch_nodes.dataplane.deliveries import DelayedFrames
from switch_nodes.dataplane.lag import LagHistogram
from workloads.machine import FrameBatch

__all__ = ["ArrivingFrames", "ModelledWire"]

_BITS_NS = 8 * 10**9
_CATCH_UP = 4


class ModelledWire:
    """One direction of a link. `rates`: (from when, bit/s), the first from the start on; times are emulated ns.
    `paced`: the sender keeps to the rate itself, and frames that come closer together are those that it was late with.
    Of others both may be: frames arrive a quarter of their time closer together at most."""

    def __init__(self, rates: Sequence[tuple[int, int]], *, paced: bool) -> None:
        self._rates, self._paced = deque(rates), paced
        _, self._rate_bps = self._rates.popleft()
        self._free_at = 0

    def carry(self, size: int, now: int) -> int:
        """When a frame of `size` bytes, whose first bit leaves at `now` at the earliest, has arrived."""
        while self._rates and self._rates[0][0] <= now:
            _, self._rate_bps = self._rates.popleft()
        took = size * _BITS_NS // self._rate_bps
        apart = 0 if self._paced else took - took // _CATCH_UP
        self._free_at = max(self._free_at + apart, now + took)
        return self._free_at


class ArrivingFrames:
    """What is on the wires of the ports in `wires`; frames of other ports arrive at once."""

    def __init__(self, wires: Mapping[int, ModelledWire]) -> None:
        self._wires = dict(wires)
        self._frames = DelayedFrames()

    def __bool__(self) -> bool:
        return bool(self._wires)

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def next_due(self) -> int | None:
        return self._frames.next_due

    def take(self, batch: FrameBatch, now: int) -> None:
        """Frames that came in."""
        ports, lengths = batch.ports[: batch.count].tolist(), batch.lengths[: batch.count].tolist()
        for row, (port, length) in enumerate(zip(ports, lengths, strict=True)):
            wire = self._wires.get(port)
            self._frames.push(now if wire is None else wire.carry(length, now), port, bytes(batch.row(row)))

    def pop_due(self, now: int, batch: FrameBatch, limit: int, lag: LagHistogram) -> None:
        """Fill `batch` with frames that have arrived, `limit` at most."""
        self._frames.pop_due(now, batch, limit, lag)

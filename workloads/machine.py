"""The Machine contract: five verbs, sans-I/O, time injected.

A Machine never blocks, never raises on what a peer sent (it emits an event and counts it), and is deterministic in
its inputs, `now` and its seed. Times are integer nanoseconds from an arbitrary origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from workloads.codec import field_values, unless_default

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BatchMachine",
    "Buffer",
    "Event",
    "FrameBatch",
    "HostMachine",
    "Machine",
    "event_record",
    "unless_default",
]

Buffer: TypeAlias = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Event:
    """One fact. Subclasses are frozen dataclasses whose fields are JSON values, each with a doc string below it."""


def event_record(event: Event) -> dict[str, Any]:
    """`{"event": class name, **fields}`, for `json.dumps`. A field that is `unless_default` is there only when it has
    another value."""
    return {"event": type(event).__name__, **field_values(event)}


@runtime_checkable
class Machine(Protocol):
    """A protocol state machine on Ethernet frames."""

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        """One Ethernet frame came in on `port`. The Machine copies what it keeps."""
        ...

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        """Frames to send, as (port, frame), made lazily. A frame that the caller took from the iterator has left. Other
        frames stay inside and may change, as when a NAK turns a sender back."""
        ...

    def get_timer(self) -> int | None:
        """When `handle_timer` wants to be called; None: never."""
        ...

    def handle_timer(self, now: int) -> None:
        """Act on every deadline that is not after `now`. Late is harmless, early does nothing."""
        ...

    def next_event(self) -> Event | None:
        """The oldest event that the caller has not taken yet."""
        ...


class HostMachine(Machine, Protocol):
    """A Machine that a host runs."""

    def finish(self, now: int) -> None:
        """The world stops: queue the last events, statistics among them."""
        ...


@dataclass(slots=True)
class FrameBatch:
    """Frames side by side in one array: row i is `frames[i, :lengths[i]]`, seen on (or meant for) port `ports[i]`."""

    frames: NDArray[np.uint8]
    """shape (capacity, stride)"""
    lengths: NDArray[np.int32]
    """shape (capacity,), bytes"""
    ports: NDArray[np.int32]
    """shape (capacity,)"""
    count: int = field(default=0)
    """rows in use"""
    capacity: int = field(init=False, repr=False, compare=False)
    """number of rows that may be in use; a caller that wants fewer rows filled lowers it"""
    stride: int = field(init=False, repr=False, compare=False)
    """bytes of a row"""
    _addresses: tuple[int, int, int, int] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.capacity, self.stride = self.frames.shape

    @classmethod
    def of(cls, capacity: int, stride: int) -> FrameBatch:
        import numpy as np  # here: who looks up an event or a layout makes no batch

        frames = np.empty((capacity, stride), np.uint8)
        frames.fill(0)  # has its memory now, not only when the first frames come
        return cls(frames, np.zeros(capacity, np.int32), np.zeros(capacity, np.int32), 0)

    @property
    def addresses(self) -> tuple[int, int, int, int]:
        """(frames, bytes from row to row, lengths, ports) in memory, for compiled code. Asking NumPy each time would
        cost more than a call into C. Raises ValueError when the rows do not lie one behind the other."""
        if self._addresses is None:
            arrays = (self.frames, self.lengths, self.ports)
            if not all(array.flags.c_contiguous for array in arrays):
                raise ValueError("the rows of a FrameBatch must lie one behind the other")
            self._addresses = (self.frames.ctypes.data, self.stride, self.lengths.ctypes.data, self.ports.ctypes.data)
        return self._addresses

    def row(self, index: int) -> memoryview:
        """The frame in row `index`, without a copy."""
        return memoryview(self.frames[index])[: int(self.lengths[index])]

    def append(self, port: int, frame: Buffer) -> None:
        index, size = self.count, len(frame)
        memoryview(self.frames[index])[:size] = frame
        self.lengths[index], self.ports[index] = size, port
        self.count = index + 1


@runtime_checkable
class BatchMachine(Machine, Protocol):
    """A Machine with a fast path. A differential test proves that it emits the same bytes as the per-frame verbs."""

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        """As `receive_frame` for each row, in order."""
        ...

    def fill_batch(self, batch: FrameBatch, now: int) -> None:
        """As `frames_to_send`: append frames that want to leave until there are no more or the batch is full."""
        ...

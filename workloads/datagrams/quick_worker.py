"""What workers that send blocks as datagrams have in common, on the compiled path. An iteration's gradient becomes a
tensor of packets. The window decides which packets may be under way. The results make up the sum. Each protocol defines
the content of its packets.
"""

from __future__ import annotations

from typing import Any

from workloads.config import JobShare
from workloads.datagrams.packet_window import PacketWindow
from workloads.datagrams.quantisation import Tensor, Unquantisable, create_tensor
from workloads.datagrams.quick_host import QuickHost
from workloads.datagrams.training import Training
from workloads.events import CollectiveStarted

__all__ = ["QuickWorker"]


class QuickWorker(QuickHost):
    """`fixed_scale`: by which floats are multiplied, None: by exponents. A subclass may override what has no
    underscore."""

    def __init__(
        self,
        share: JobShare,
        training: Training,
        window: PacketWindow,
        elements: int,
        fixed_scale: float | None = None,
    ) -> None:
        QuickHost.__init__(self, share, training)
        self._block, self._fixed_scale = elements, fixed_scale
        self._window: Any = window
        """a PacketWindow; protocols know which"""
        self._tensor: Tensor | None = None
        """None: between iterations"""
        self._total = len(training.gradient)
        """elements of the gradient"""
        self._is_layered = training.is_layered

    def packets_due(self) -> int:
        due: int = self._window.due()
        return due

    def expire(self, now: int) -> int:
        expired: int = self._window.expire(now)
        return expired

    def wake(self, now: int) -> None:
        QuickHost.wake(self, now)
        self._window.release()

    def begin(self, now: int) -> None:
        training = self._training
        try:
            tensor = create_tensor(
                training.gradient, training.result, block=self._block, workers=self._size, window=self._window.window,
                fixed_scale=self._fixed_scale,
            )  # fmt: skip
        except Unquantisable as error:
            training.fail("unquantisable", str(error))
            return
        self._tensor, self._total = tensor, len(training.gradient)
        self.events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, tensor.packets))
        self._window.start(tensor.packets)

    def may_leave(self, packet: int) -> bool:
        """Whether its first block is computed; the last packets of floats carry exponents only."""
        end: int = (packet - self._window.first + 1) * self._block
        return self._ready >= min(end, self._total) or end >= self._total + self._block

    def put(self, packet: int, first: int, second: int, frame: bytes, at: int, count: int, now: int) -> None:
        """The sum of an outstanding packet: exponents, and elements in a frame."""
        tensor, own = self._tensor, packet - self._window.first
        assert tensor is not None, "a packet is outstanding"
        self._results += 1
        tensor.put(own, first, second, frame, at, count)
        if self._is_layered:
            self._training.deliver((own - tensor.ahead) * self._block, count, now)
            self._follow()
        self._window.settle(packet, now)
        if not self._window.missing:
            self.complete(now)

    def complete(self, now: int) -> None:
        self._tensor = None
        QuickHost.complete(self, now)

"""What workers that send blocks as datagrams have in common: an iteration's gradient becomes a tensor of packets, the
window says which may be under way, results put the sum together. What a packet says, and what else comes back, is each
protocol's own."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from workloads.config import JobShare, WorkloadConfig
from workloads.datagrams.host import DatagramHost
from workloads.datagrams.quantisation import Exponents, Tensor, Unquantisable, create_tensor
from workloads.datagrams.training import Training
from workloads.events import CollectiveStarted
from workloads.gradients import GradientSource

__all__ = ["BlockWorker"]


class _Config(Protocol):
    @property
    def collective(self) -> JobShare: ...
    @property
    def workload(self) -> WorkloadConfig: ...
    @property
    def elements(self) -> int: ...
    @property
    def window(self) -> int: ...


class _Window(Protocol):
    """Packets are counted over all tensors, from 0."""

    first: int
    """packet of the tensor"""

    @property
    def complete(self) -> bool: ...
    def start(self, packets: int) -> None: ...
    def get_timer(self) -> int | None: ...
    def expire(self, now: int) -> int: ...


C = TypeVar("C", bound=_Config)
W = TypeVar("W", bound=_Window)


class BlockWorker(DatagramHost, Generic[C, W]):
    """The greater part of a Machine. `start_ns`: when it starts; `fixed_scale`: by which floats are multiplied, None:
    by exponents."""

    def __init__(
        self, config: C, source: GradientSource, window: W, *, start_ns: int, fixed_scale: float | None = None
    ) -> None:
        rank = config.collective.rank
        super().__init__(config.collective.job, Training.of(config.workload, source, rank, start_ns))
        self._config, self._window, self._fixed_scale, self._rank = config, window, fixed_scale, rank
        self._tensor: Tensor | None = None
        """None: between iterations"""

    def get_timer(self) -> int | None:
        if self.failed:
            return None
        first, timer = self._training.get_timer(), self._window.get_timer()
        return first if timer is None or (first is not None and first < timer) else timer

    def handle_timer(self, now: int) -> None:
        if self.failed:
            return
        self._counts["timeouts"] += self._window.expire(now)
        if self._training.handle_timer(now):
            self._start(now)

    def _start(self, now: int) -> None:
        """An iteration."""
        config, training = self._config, self._training
        try:
            tensor = create_tensor(
                training.gradient, training.result, block=config.elements, workers=config.collective.size,
                window=config.window, fixed_scale=self._fixed_scale,
            )  # fmt: skip
        except Unquantisable as error:
            training.fail("unquantisable", str(error))
            return
        self._tensor = tensor
        self._events.append(CollectiveStarted(training.iteration, training.gradient.nbytes, tensor.packets))
        self._window.start(tensor.packets)

    def _may_leave(self, packet: int) -> bool:
        """Whether the block of which it tells first is computed; the last packets of floats tell of none."""
        training, own = self._training, packet - self._window.first
        end, total = (own + 1) * self._config.elements, len(training.gradient)
        return training.ready >= min(end, total) or end >= total + self._config.elements

    def _put(self, tensor: Tensor, own: int, exponents: Exponents, payload: memoryview, now: int) -> None:
        """The sum of packet `own` of the tensor."""
        self._counts["results_received"] += 1
        tensor.put(own, *exponents, bytes(payload), 0, len(payload) // 4)
        self._training.deliver((own - tensor.ahead) * self._config.elements, len(payload) // 4, now)

    def _complete(self, now: int) -> None:
        """All results of an iteration are there."""
        self._tensor = None
        self._training.complete(now)

"""The process group of the backend `ina`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from workloads.ranks.client import NetworkFailed
from workloads.torch_backend.exchange import StoreExchange, combine
from workloads.torch_backend.rank import Rank, this_rank
from workloads.torch_backend.work import NetworkWork, done_work

__all__ = ["InaGroup", "make_group"]

_OPS = {
    "sum": dist.ReduceOp.SUM, "avg": dist.ReduceOp.AVG, "product": dist.ReduceOp.PRODUCT, "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX, "band": dist.ReduceOp.BAND, "bor": dist.ReduceOp.BOR, "bxor": dist.ReduceOp.BXOR,
}  # fmt: skip
Tensors = Sequence[torch.Tensor]


def make_group(store: Any, rank: int, size: int, timeout: timedelta) -> InaGroup:
    """As `register_backend` wants it. Raises NetworkFailed when there is no network to join."""
    return InaGroup(store, rank, size, timeout, this_rank(rank, size))


class InaGroup(dist.ProcessGroup):
    """`member`: this process in the network; None: a group of a part of the ranks, which has the store alone.

    float32 all-reduces with SUM and AVG are asynchronous; all others are complete when they return."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, member: Rank | None) -> None:
        super().__init__(rank, size)
        self._rank, self._size, self._member = rank, size, member
        self._exchange = StoreExchange(store, rank, size, timeout, self._check)

    def getBackendName(self) -> str:
        return "ina"

    # What the network does.

    def allreduce(self, tensors: Tensors, opts: Any = None) -> NetworkWork:
        tensor, op = _only(tensors, "all_reduce"), _name(opts, "all_reduce")
        member = self._member
        if member is None or op not in ("sum", "avg") or tensor.dtype != torch.float32 or not tensor.numel():
            return self._reduce_over_store("all_reduce", [tensor], op)
        flat = tensor if tensor.is_contiguous() else tensor.contiguous()
        target, source = tensor.detach(), flat.detach().view(-1)
        # A gradient that takes more than half of the memory would never go beside another.
        longest = max(1, member.client.welcome.memory_bytes // 8)
        starts = range(0, len(source), longest)
        work = NetworkWork([tensor], len(starts))
        for start in starts:
            self._post_part(work, op, target, source[start : start + longest], start)
        return work

    def _post_part(self, work: NetworkWork, op: str, target: torch.Tensor, part: torch.Tensor, start: int) -> None:
        assert self._member is not None
        size = self._size

        def fill(memory: memoryview) -> None:
            torch.frombuffer(memory, dtype=torch.float32).copy_(part)

        def take(memory: memoryview, network_ns: int) -> None:
            total = torch.frombuffer(memory, dtype=torch.float32)
            if op == "avg":
                total.div_(size)
            if target.is_contiguous():
                target.view(-1)[start : start + len(total)].copy_(total)
            else:
                part.copy_(total)  # of a copy of ours, which the last part puts back
                if start + len(total) == target.numel():
                    target.copy_(_whole(part).view(target.shape))
            work.part_done()

        try:
            self._member.client.post_sum(fill, len(part), op, take, work.fail)
        except NetworkFailed as error:
            work.fail(str(error))

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> NetworkWork:
        works = [self.allreduce([tensor], opts) for tensor in tensors]
        for work in works:
            work.wait()
        return done_work(list(tensors))

    # What goes through the store.

    def broadcast(self, tensors: Tensors, opts: Any) -> NetworkWork:
        tensor = _only(tensors, "broadcast")
        self._announce("broadcast", tensor)
        found = self._exchange.gather(tensor if self._rank == opts.rootRank else None)
        tensor.detach().copy_(found[opts.rootRank])
        return done_work([tensor])

    def allgather(self, outputs: Sequence[list[torch.Tensor]], inputs: Tensors, opts: Any = None) -> NetworkWork:
        tensor = _only(inputs, "all_gather")
        self._announce("all_gather", tensor)
        for target, found in zip(outputs[0], self._exchange.gather(tensor), strict=True):
            target.copy_(found)
        return done_work(list(outputs[0]))

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> NetworkWork:
        self._announce("all_gather", tensor)
        found = self._exchange.gather(tensor)
        output.copy_(torch.cat([item.reshape(-1) for item in found]).view(output.shape))
        return done_work([output])

    def allgather_coalesced(
        self, outputs: Sequence[list[torch.Tensor]], inputs: Tensors, opts: Any = None
    ) -> NetworkWork:
        for rank, tensors in enumerate(self._gather("all_gather", list(inputs))):
            for target, found in zip(outputs[rank], tensors, strict=True):
                target.copy_(found)
        return done_work([tensor for output in outputs for tensor in output])

    def all_gather_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> NetworkWork:
        for output, tensor in zip(outputs, inputs, strict=True):
            self.all_gather_single(output, tensor)
        return done_work(list(outputs))

    def reduce(self, tensors: Tensors, opts: Any) -> NetworkWork:
        tensor, op = _only(tensors, "reduce"), _name(opts, "reduce")
        self._announce("reduce", tensor, op)
        found = self._exchange.gather(tensor)
        if self._rank == opts.rootRank:
            tensor.copy_(combine(op, found))
        return done_work([tensor])

    def gather(self, outputs: Sequence[list[torch.Tensor]], inputs: Tensors, opts: Any) -> NetworkWork:
        found = self._gather("gather", _only(inputs, "gather"))
        if self._rank == opts.rootRank:
            for target, item in zip(outputs[0], found, strict=True):
                target.copy_(item)
        return done_work(list(outputs[0]) if outputs else [])

    def scatter(self, outputs: Tensors, inputs: Sequence[list[torch.Tensor]], opts: Any) -> NetworkWork:
        output = _only(outputs, "scatter")
        found = self._gather("scatter", list(inputs[0]) if self._rank == opts.rootRank else None)
        output.copy_(found[opts.rootRank][self._rank])
        return done_work([output])

    def reduce_scatter(self, outputs: Tensors, inputs: Sequence[list[torch.Tensor]], opts: Any = None) -> NetworkWork:
        output, op = _only(outputs, "reduce_scatter"), _name(opts, "reduce_scatter")
        found = self._gather("reduce_scatter", list(inputs[0]))
        output.copy_(combine(op, [parts[self._rank] for parts in found]))
        return done_work([output])

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> NetworkWork:
        op = _name(opts, "reduce_scatter")
        self._announce("reduce_scatter", tensor, op)
        found = [item.reshape(self._size, -1)[self._rank] for item in self._exchange.gather(tensor)]
        output.copy_(combine(op, found).view(output.shape))
        return done_work([output])

    def reduce_scatter_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> NetworkWork:
        for output, tensor in zip(outputs, inputs, strict=True):
            self.reduce_scatter_single(output, tensor, opts)
        return done_work(list(outputs))

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> NetworkWork:
        for target, parts in zip(outputs, self._gather("all_to_all", list(inputs)), strict=True):
            target.copy_(parts[self._rank])
        return done_work(list(outputs))

    def all_to_all_single(
        self, output: torch.Tensor, tensor: torch.Tensor, output_sizes: list[int], input_sizes: list[int],
        opts: Any = None,
    ) -> NetworkWork:  # fmt: skip
        even = [len(tensor) // self._size] * self._size
        parts = list(tensor.split(input_sizes or even))
        found = self._gather("all_to_all", parts)
        output.copy_(torch.cat([item[self._rank] for item in found]))
        return done_work([output])

    def barrier(self, opts: Any = None) -> NetworkWork:
        self._gather("barrier", None)
        return done_work([])

    def send(self, tensors: Tensors, target: int, tag: int = 0) -> NetworkWork:
        self._exchange.send(target, tag, _only(tensors, "send"))
        return done_work(list(tensors))

    def recv(self, tensors: Tensors, source: int, tag: int = 0) -> NetworkWork:
        _only(tensors, "recv").copy_(self._exchange.receive(source, tag))
        return done_work(list(tensors))

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> NetworkWork:
        raise NotImplementedError("the backend ina receives from a rank that is named: give recv a src")

    # What other versions of torch call them.

    _allgather_base, allgather_into_tensor_coalesced = all_gather_single, all_gather_single_coalesced
    _reduce_scatter_base, reduce_scatter_tensor_coalesced = reduce_scatter_single, reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single

    def _reduce_over_store(self, what: str, tensors: list[torch.Tensor], op: str) -> NetworkWork:
        tensor = tensors[0]
        self._announce(what, tensor, op)
        tensor.detach().copy_(combine(op, self._exchange.gather(tensor.detach())))
        return done_work(tensors)

    def _gather(self, what: str, value: Any) -> list[Any]:
        """Of collectives whose tensors may differ from rank to rank."""
        if self._member is not None:
            self._member.client.announce(what)
        return self._exchange.gather(value)

    def _announce(self, what: str, tensor: torch.Tensor, op: str = "") -> None:
        if self._member is not None:
            dtype = str(tensor.dtype).removeprefix("torch.")
            self._member.client.announce(what, dtype, op, tensor.numel())

    def _check(self) -> None:
        if self._member is not None:
            self._member.client.check()


def _only(tensors: Tensors, what: str) -> torch.Tensor:
    """Raises ValueError for anything but one dense tensor in the processor's memory."""
    if len(tensors) != 1:
        raise ValueError(f"the backend ina does {what} on one tensor at a time, and was given {len(tensors)}")
    tensor = tensors[0]
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        raise ValueError(
            f"the backend ina does {what} on dense tensors in the processor's memory, and was given one on "
            f"{tensor.device} with layout {tensor.layout}: move it with .cpu() or .to_dense()"
        )
    return tensor


def _name(opts: Any, what: str) -> str:
    """Of the reduction. Raises ValueError for one that the backend does not have."""
    wanted = dist.ReduceOp.SUM if opts is None else opts.reduceOp
    for name, op in _OPS.items():
        if wanted == op:
            return name
    raise ValueError(f"the backend ina does {what} with {', '.join(_OPS)}, and was asked for {wanted}")


def _whole(part: torch.Tensor) -> torch.Tensor:
    """The flat tensor that `part` is the end of."""
    base = part._base
    return part if base is None else base.view(-1)

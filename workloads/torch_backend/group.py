"""The process group of the backend `ina`: the collectives of torch, in terms of a membership."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from workloads.torch_backend import loads
from workloads.torch_backend.arguments import fit, limit_of, only_list, rows_of, seconds
from workloads.torch_backend.membership import Membership, Turn
from workloads.torch_backend.rank import this_rank
from workloads.torch_backend.reduction import combine, is_sum, mean_of, name_of, scaled
from workloads.torch_backend.tensors import blocks, only, readable, writable, write
from workloads.torch_backend.work import InaWork

__all__ = ["InaGroup", "make_group"]

Tensors = Sequence[torch.Tensor]
Lists = Sequence[Sequence[torch.Tensor]]


def make_group(options: Any, _: Any = None) -> InaGroup:
    """As `register_backend` wants it, with its extended interface. All ranks of the group make it. Raises NetworkFailed
    when there is no network to join, or when a rank does not make the group."""
    ranks = tuple(options.global_ranks_in_group)
    if ranks:
        member = this_rank(dist.get_rank(), dist.get_world_size())
    else:
        ranks, member = tuple(range(options.group_size)), this_rank(options.group_rank, options.group_size)
    return InaGroup(Membership(options.store, str(options.group_id), ranks, seconds(options.timeout), member))


class InaGroup(dist.ProcessGroup):
    """All collectives are asynchronous. Over a network of reliable connections all of them cross it. Over another one
    float32 all-reduces of all ranks with SUM, AVG and PREMUL_SUM do, and all others cross the store."""

    def __init__(self, here: Membership) -> None:
        super().__init__(here.place, len(here.ranks))
        self._here, self._place, self._size = here, here.place, len(here.ranks)
        self._names = {"name": "", "description": "undefined"}

    # What torch asks of every group.

    def getBackendName(self) -> str:
        return "ina"

    def getGroupName(self) -> str:
        return self._names["name"]

    def setGroupName(self, name: str) -> None:
        self._names["name"] = name

    def getGroupDesc(self) -> str:
        return self._names["description"]

    def setGroupDesc(self, description: str) -> None:
        self._names["description"] = description

    def set_timeout(self, timeout: timedelta) -> None:
        self._here.timeout_s = seconds(timeout)

    setTimeout = set_timeout

    def shutdown(self) -> None:
        self._here.shutdown()

    abort = shutdown

    # Reductions.

    def allreduce(self, tensors: Tensors, opts: Any = None) -> InaWork:
        return self._all_reduce("all_reduce", [only(tensors, "all_reduce")], opts)

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> InaWork:
        return self._all_reduce("all_reduce", list(tensors), opts)

    def reduce(self, tensors: Tensors, opts: Any) -> InaWork:
        tensor, root = only(tensors, "reduce"), self._rank(opts.rootRank, "reduce")
        is_root = root == self._place
        (writable if is_root else readable)([tensor], "reduce")
        op, given = name_of(opts, "reduce", [tensor]), scaled([tensor], opts)
        if self._here.carries_all:
            return self._carried("reduce", self._reduced(op, tensor, given[0], root), [tensor], opts, op=op, root=root)

        def run(turn: Turn) -> None:
            parts = turn.collect(given, root)
            if is_root:
                write(tensor, combine(op, [part[0] for part in parts]))

        return self._here.start("reduce", [tensor], run, op=op, root=root, timeout_s=limit_of(opts))

    def reduce_scatter(self, outputs: Tensors, inputs: Lists, opts: Any = None) -> InaWork:
        parts = self._one_each(only_list(inputs, "reduce_scatter"), "reduce_scatter")
        return self._reduce_scatter([only(outputs, "reduce_scatter")], [[part] for part in parts], parts, opts)

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> InaWork:
        return self.reduce_scatter_single_coalesced([output], [tensor], opts)

    def reduce_scatter_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> InaWork:
        readable(inputs, "reduce_scatter")
        rows = [blocks(tensor, self._size, "reduce_scatter") for tensor in inputs]
        return self._reduce_scatter(
            list(outputs), [list(parts) for parts in zip(*rows, strict=True)], list(inputs), opts
        )

    # What moves as it is.

    def broadcast(self, tensors: Tensors, opts: Any) -> InaWork:
        tensor, root = only(tensors, "broadcast"), self._rank(opts.rootRank, "broadcast")
        (readable if root == self._place else writable)([tensor], "broadcast")
        if self._here.carries_all:
            each = loads.rooted(tensor, self._here.longest_sum, gives=root == self._place)
            return self._carried("broadcast", each, [tensor], opts, root=root)

        def run(turn: Turn) -> None:
            if root == self._place:
                turn.put("all", [tensor], self._size - 1)
            else:
                write(tensor, turn.get("all", self._size - 1, root)[0])

        return self._here.start("broadcast", [tensor], run, root=root, timeout_s=limit_of(opts))

    def allgather(self, outputs: Lists, inputs: Tensors, opts: Any = None) -> InaWork:
        tensor = only(readable(inputs, "all_gather"), "all_gather")
        targets = writable(self._one_each(only_list(outputs, "all_gather"), "all_gather"), "all_gather")
        alike = all(target.shape == tensor.shape for target in targets)
        return self._all_gather([[target] for target in targets], [tensor], [tensor] if alike else targets, opts)

    def allgather_coalesced(self, outputs: Lists, inputs: Tensors, opts: Any = None) -> InaWork:
        return self._all_gather(self._one_each(outputs, "all_gather"), list(inputs), list(inputs), opts)

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> InaWork:
        return self.all_gather_single_coalesced([output], [tensor], opts)

    def all_gather_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> InaWork:
        writable(outputs, "all_gather")
        rows = [blocks(output, self._size, "all_gather") for output in outputs]
        return self._all_gather([list(parts) for parts in zip(*rows, strict=True)], list(inputs), list(inputs), opts)

    def gather(self, outputs: Lists, inputs: Tensors, opts: Any) -> InaWork:
        tensor, root = only(inputs, "gather"), self._rank(opts.rootRank, "gather")
        readable([tensor], "gather")
        targets: list[torch.Tensor] = []
        if root == self._place:
            targets = writable(self._one_each(only_list(outputs, "gather"), "gather"), "gather")
            fit(targets, [tensor] * self._size, "gather")
        if self._here.carries_all:
            load = loads.swapped(
                [[tensor] if rank == root else [] for rank in range(self._size)],
                [[target] for target in targets] or [[]] * self._size,
            )
            return self._carried("gather", [load], targets, opts, like=[tensor], root=root)

        def run(turn: Turn) -> None:
            for target, part in zip(targets, turn.collect([tensor], root), strict=True):
                write(target, part[0])

        return self._here.start("gather", targets, run, like=[tensor], root=root, timeout_s=limit_of(opts))

    def scatter(self, outputs: Tensors, inputs: Lists, opts: Any) -> InaWork:
        output, root = only(outputs, "scatter"), self._rank(opts.rootRank, "scatter")
        writable([output], "scatter")
        parts: list[torch.Tensor] = []
        if root == self._place:
            parts = readable(self._one_each(only_list(inputs, "scatter"), "scatter"), "scatter")
            fit([output] * self._size, parts, "scatter")
        if self._here.carries_all:
            load = loads.swapped(
                [[part] for part in parts] or [[]] * self._size,
                [[output] if rank == root else [] for rank in range(self._size)],
            )
            return self._carried("scatter", [load], [output], opts, root=root)

        def run(turn: Turn) -> None:
            write(output, turn.spread([[part] for part in parts], root)[0])

        return self._here.start("scatter", [output], run, root=root, timeout_s=limit_of(opts))

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> InaWork:
        readable(inputs, "all_to_all")
        writable(outputs, "all_to_all")
        return self._all_to_all(
            self._one_each(outputs, "all_to_all"), self._one_each(inputs, "all_to_all"), list(outputs), opts
        )

    def all_to_all_single(
        self, output: torch.Tensor, tensor: torch.Tensor, output_sizes: list[int], input_sizes: list[int],
        opts: Any = None,
    ) -> InaWork:  # fmt: skip
        writable([output], "all_to_all")
        readable([tensor], "all_to_all")
        takes = rows_of(output.detach(), output_sizes, self._size)
        gives = rows_of(tensor.detach(), input_sizes, self._size)
        return self._all_to_all(takes, gives, [output], opts)

    def barrier(self, opts: Any = None) -> InaWork:
        if self._here.carries_all:
            return self._carried("barrier", [loads.nothing()], [], opts)
        return self._here.start("barrier", [], lambda turn: None, timeout_s=limit_of(opts))

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """Raises NetworkFailed at all ranks, with the ranks that are missing, whether it waits for all or not."""
        limit_s = 0.0 if timeout is None else timeout.total_seconds()
        self._here.start("monitored_barrier", [], lambda turn: None, timeout_s=limit_s).wait()

    # Between two ranks.

    def send(self, tensors: Tensors, target: int, tag: int = 0) -> InaWork:
        """Complete when the target has posted its recv."""
        tensor, target = only(readable(tensors, "send"), "send"), self._rank(target, "send")
        if self._here.carries_all:
            return self._here.carry("send", [tensor], loads.sent(tensor, gives=True), peer=target, tag=tag)
        return self._here.start("send", [tensor], lambda turn: turn.put("mail", [tensor], 1), peer=target, tag=tag)

    def recv(self, tensors: Tensors, source: int, tag: int = 0) -> InaWork:
        return self._recv(tensors, self._rank(source, "recv"), tag)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> InaWork:
        return self._recv(tensors, -1, tag)

    # Names in other versions of torch.
    _allgather_base, allgather_into_tensor_coalesced = all_gather_single, all_gather_single_coalesced
    _reduce_scatter_base, reduce_scatter_tensor_coalesced = reduce_scatter_single, reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single

    def _recv(self, tensors: Tensors, source: int, tag: int) -> InaWork:
        tensor = only(writable(tensors, "recv"), "recv")
        if self._here.carries_all:
            return self._here.carry("recv", [tensor], loads.sent(tensor, gives=False), peer=source, tag=tag)

        def run(turn: Turn) -> None:
            write(tensor, turn.get("mail", 1, turn.source)[0])

        return self._here.start("recv", [tensor], run, peer=source, tag=tag)

    def _all_reduce(self, what: str, tensors: list[torch.Tensor], opts: Any) -> InaWork:
        writable(tensors, what)
        op, here, limit_s = name_of(opts, what, tensors), self._here, limit_of(opts)
        sums = here.has_network and is_sum(op)
        summed = [sums and tensor.dtype == torch.float32 and tensor.numel() > 0 for tensor in tensors]
        given = scaled(tensors, opts)
        others = [
            [] if is_summed or not here.carries_all else self._all_reduced(op, tensor, own)
            for tensor, own, is_summed in zip(tensors, given, summed, strict=True)
        ]
        parts = sum(
            here.parts_of(tensor) if is_summed else max(1, len(each))
            for tensor, is_summed, each in zip(tensors, summed, others, strict=True)
        )
        work = here.new_work(what, tensors, parts)
        with here.posting(work):
            for tensor, own, is_summed, each in zip(tensors, given, summed, others, strict=True):
                if is_summed:
                    here.sum(tensor, op, work, limit_s, None if own is tensor else own)
                elif here.carries_all:
                    for load in each:
                        here.carry(what, [tensor], load, work=work, op=op, timeout_s=limit_s)
                else:
                    self._reduce_over_store(what, tensor, own, op, work, limit_s)
        return work

    def _all_reduced(self, op: str, tensor: torch.Tensor, given: torch.Tensor) -> list[loads.Cargo]:
        """An all-reduce that is no sum of float32 of all ranks."""
        longest = self._here.longest_sum
        if is_sum(op) and tensor.dtype == torch.float32:
            return loads.summed(
                "all_reduce", given, longest, lambda total: write(tensor, mean_of(op, total, self._size))
            )
        values = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(self._size)]
        return loads.gathered(
            [[value] for value in values], [given], self._place, longest, lambda: write(tensor, combine(op, values))
        )

    def _reduced(self, op: str, tensor: torch.Tensor, given: torch.Tensor, root: int) -> list[loads.Cargo]:
        """A reduce to `root`."""
        is_root = root == self._place
        if is_sum(op) and tensor.dtype == torch.float32:
            accept = (lambda total: write(tensor, mean_of(op, total, self._size))) if is_root else None
            return loads.summed("reduce", given, self._here.longest_sum, accept)
        values = [
            torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(self._size if is_root else 0)
        ]
        load = loads.swapped(
            [[given] if rank == root else [] for rank in range(self._size)],
            [[value] for value in values] or [[]] * self._size,
            (lambda: write(tensor, combine(op, values))) if is_root else None,
        )
        return [load]

    def _carried(
        self, what: str, each: list[loads.Cargo], results: list[torch.Tensor], opts: Any, *,
        like: list[torch.Tensor] | None = None, **more: Any,
    ) -> InaWork:  # fmt: skip
        """A collective that the network carries in parts."""
        work = self._here.new_work(what, results if like is None else like, len(each), results=results)
        for load in each:
            self._here.carry(what, results, load, like=like, work=work, timeout_s=limit_of(opts), **more)
        return work

    def _reduce_over_store(
        self, what: str, tensor: torch.Tensor, given: torch.Tensor, op: str, work: InaWork, limit_s: float
    ) -> None:
        def run(turn: Turn) -> None:
            write(tensor, combine(op, [part[0] for part in turn.gather([given])]))

        self._here.start(what, [tensor], run, work=work, op=op, timeout_s=limit_s)

    def _reduce_scatter(
        self, outputs: list[torch.Tensor], parts: list[list[torch.Tensor]], like: list[torch.Tensor], opts: Any
    ) -> InaWork:
        """`parts`: by rank, what is reduced for its outputs."""
        what = "reduce_scatter"
        writable(outputs, what)
        for each in parts:
            readable(each, what)
        op = name_of(opts, what, outputs)
        fit(outputs, parts[self._place], what)
        parts = [scaled(each, opts) for each in parts]
        if self._here.carries_all:
            return self._carried(what, self._scattered(op, outputs, parts), outputs, opts, like=like, op=op)

        def run(turn: Turn) -> None:
            for output, values in zip(outputs, zip(*turn.exchange(parts), strict=True), strict=True):
                write(output, combine(op, list(values)))

        return self._here.start(what, outputs, run, like=like, op=op, timeout_s=limit_of(opts))

    def _scattered(self, op: str, outputs: list[torch.Tensor], parts: list[list[torch.Tensor]]) -> list[loads.Cargo]:
        if is_sum(op) and all(output.dtype == torch.float32 for output in outputs):
            rows = [torch.cat([part.detach().reshape(-1) for part in each]) for each in parts]

            def accept(total: torch.Tensor) -> None:
                mean_of(op, total, self._size)
                for output, own in zip(outputs, total.split([output.numel() for output in outputs]), strict=True):
                    write(output, own)

            return loads.scattered(rows, self._place, self._here.longest_sum, accept)
        values = [
            [torch.empty_like(output, memory_format=torch.contiguous_format) for output in outputs]
            for _ in range(self._size)
        ]

        def fold() -> None:
            for output, column in zip(outputs, zip(*values, strict=True), strict=True):
                write(output, combine(op, list(column)))

        return [loads.swapped(parts, values, fold)]

    def _all_gather(
        self, outputs: Sequence[Sequence[torch.Tensor]], inputs: list[torch.Tensor], like: list[torch.Tensor], opts: Any
    ) -> InaWork:
        """`outputs`: by rank, where its inputs go."""
        readable(inputs, "all_gather")
        flat = [target for targets in outputs for target in writable(targets, "all_gather")]
        fit(outputs[self._place], inputs, "all_gather")
        if self._here.carries_all:
            each = loads.gathered(outputs, inputs, self._place, self._here.longest_sum)
            return self._carried("all_gather", each, flat, opts, like=like)

        def run(turn: Turn) -> None:
            for targets, values in zip(outputs, turn.gather(inputs), strict=True):
                for target, value in zip(targets, values, strict=True):
                    write(target, value)

        return self._here.start("all_gather", flat, run, like=like, timeout_s=limit_of(opts))

    def _all_to_all(self, outputs: Tensors, inputs: Tensors, results: list[torch.Tensor], opts: Any) -> InaWork:
        """`outputs`, `inputs`: by rank. Sizes may differ; the ranks compare who gives and takes how much."""
        fit([outputs[self._place]], [inputs[self._place]], "all_to_all")
        if self._here.carries_all:
            load = loads.swapped([[part] for part in inputs], [[target] for target in outputs])
            return self._carried(
                "all_to_all", [load], results, opts, like=[inputs[0]], shape="", elements=-1,
                gives=tuple(part.numel() for part in inputs), takes=tuple(part.numel() for part in outputs),
            )  # fmt: skip

        def run(turn: Turn) -> None:
            for target, values in zip(outputs, turn.exchange([[part] for part in inputs]), strict=True):
                write(target, values[0])

        return self._here.start(
            "all_to_all", results, run, like=[inputs[0]], timeout_s=limit_of(opts), shape="", elements=-1,
            gives=tuple(part.numel() for part in inputs), takes=tuple(part.numel() for part in outputs),
        )  # fmt: skip

    def _rank(self, rank: int, what: str) -> int:
        """Raises ValueError for one that the group does not have."""
        if not 0 <= rank < self._size:
            raise ValueError(f"{what} was given rank {rank} of the process group; allowed: 0 to {self._size - 1}")
        return rank

    def _one_each(self, items: Sequence[Any], what: str) -> list[Any]:
        """Raises ValueError for other than one item for each rank of the group."""
        if len(items) != self._size:
            raise ValueError(f"{what} wants one tensor for each of {self._size} ranks, and was given {len(items)}")
        return list(items)

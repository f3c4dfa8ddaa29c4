"""What each collective of torch gives the network, and how its result becomes tensors.

| collective | crosses the network as | in parts of at most `longest` words |
|---|---|---|
| reduce_scatter, reduce, all_reduce of a part of the ranks: sums of float32 | the same operation | yes |
| all_gather, broadcast | the same operation, of bytes | yes |
| other reductions | an all_gather or a swap of the values, which each rank folds in rank order | no |
| all_to_all, gather, scatter | a swap of bytes | no |

A part is a range of words of every block: as one operation follows another, so do parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch

from workloads.torch_backend.membership import Cargo
from workloads.torch_backend.packing import pack, unpack, words_for
from workloads.torch_backend.tensors import contents

__all__ = ["Cargo", "gathered", "nothing", "rooted", "scattered", "sent", "summed", "swapped"]

Tensors = Sequence[torch.Tensor]
_WORD = 4


def nothing() -> Cargo:
    """A barrier: no rank has anything to give."""
    return Cargo("barrier", 0, _idle, _idle)


def sent(tensor: torch.Tensor, *, gives: bool) -> Cargo:
    """One side of a send and its recv."""
    return Cargo(
        "send", words_for([tensor]),
        (lambda memory: pack(memory, [tensor])) if gives else _idle,
        _idle if gives else (lambda memory: unpack(memory, [tensor])),
    )  # fmt: skip


def rooted(tensor: torch.Tensor, longest: int, *, gives: bool) -> list[Cargo]:
    """Parts of a broadcast. `gives`: this rank is the root."""
    whole = _Bytes([tensor], gives, [] if gives else [tensor])
    return [
        Cargo("broadcast", part.words, part.pack if gives else _idle, _idle if gives else part.unpack)
        for part in whole.parts(longest)
    ]


class _Bytes:
    """Tensors cut into parts of words. `gives`: whether they are read; `targets`: what the bytes become in the end."""

    def __init__(self, tensors: Tensors, gives: bool, targets: Tensors) -> None:
        self._words = words_for(tensors)
        self._given = bytearray(_WORD * self._words)
        if gives and self._words:
            pack(memoryview(self._given), tensors)
        self._taken = bytearray(_WORD * self._words) if targets else bytearray()
        self._targets = targets

    def parts(self, longest: int) -> list[_Part]:
        step = max(1, longest)
        starts = range(0, self._words, step) if self._words else range(1)
        return [_Part(self, start, min(step, self._words - start)) for start in starts]

    def read(self, start: int, words: int) -> memoryview:
        return memoryview(self._given)[_WORD * start : _WORD * (start + words)]

    def write(self, start: int, words: int, memory: memoryview) -> None:
        """When the last part came, the targets have their values: parts come in order."""
        self._taken[_WORD * start : _WORD * (start + words)] = memory[: _WORD * words]
        if start + words == self._words and self._words:
            unpack(memoryview(self._taken), self._targets)


class _Part:
    def __init__(self, whole: _Bytes, start: int, words: int) -> None:
        self._whole, self._start, self.words = whole, start, words

    def pack(self, memory: memoryview) -> None:
        memory[: _WORD * self.words] = self._whole.read(self._start, self.words)

    def unpack(self, memory: memoryview) -> None:
        self._whole.write(self._start, self.words, memory)


def gathered(
    outputs: Sequence[Tensors], inputs: Tensors, place: int, longest: int, done: Callable[[], None] | None = None
) -> list[Cargo]:
    """Parts of an all-gather. `outputs`: by rank of the group, where its inputs go. `done`: called when all are
    there."""
    size = len(outputs)
    own = _Bytes(inputs, True, []).parts(longest // size)
    others = [_Bytes(inputs, False, targets).parts(longest // size) for targets in outputs]
    loads = []
    for number, part in enumerate(own):
        step = _WORD * part.words
        columns = [parts[number] for parts in others]

        def give(memory: memoryview, part: _Part = part, step: int = step) -> None:
            if step:
                part.pack(memory[place * step : (place + 1) * step])

        def take(
            memory: memoryview, columns: list[_Part] = columns, step: int = step, last: bool = number + 1 == len(own)
        ) -> None:
            for rank, column in enumerate(columns):
                column.unpack(memory[rank * step : (rank + 1) * step])
            if last and done is not None:
                done()

        loads.append(Cargo("all_gather", size * part.words, give, take))
    return loads


def swapped(inputs: Sequence[Tensors], outputs: Sequence[Tensors], done: Callable[[], None] | None = None) -> Cargo:
    """`inputs`: by rank of the group, what it gets from this rank; `outputs`: what it gives. `done`: called when all
    are there."""
    gives, takes = (tuple(words_for(each) for each in of) for of in (inputs, outputs))

    def give(memory: memoryview) -> None:
        for start, words, tensors in zip(_starts(gives), gives, inputs, strict=True):
            if words:
                pack(memory[_WORD * start : _WORD * (start + words)], tensors)

    def take(memory: memoryview) -> None:
        for start, words, tensors in zip(_starts(takes), takes, outputs, strict=True):
            if words:
                unpack(memory[_WORD * start : _WORD * (start + words)], tensors)
        if done is not None:
            done()

    return Cargo("swap", max(sum(gives), sum(takes)), give, take, gives, takes)


def summed(
    operation: str, values: torch.Tensor, longest: int, take: Callable[[torch.Tensor], None] | None
) -> list[Cargo]:
    """Parts of an all-reduce of a part of the ranks, or of a reduce, of float32. `values`: flat, as they are added.
    `take`: gets the flat sum, at ranks that hold it."""
    given, total = contents(values).reshape(-1), torch.empty(values.numel())
    return [
        _sum_of(operation, given[start : start + longest], total[start : start + longest], take, total,
                start + longest >= len(given))
        for start in range(0, max(1, len(given)), max(1, longest))
    ]  # fmt: skip


def _sum_of(
    operation: str, given: torch.Tensor, part: torch.Tensor, take: Callable[[torch.Tensor], None] | None,
    total: torch.Tensor, last: bool,
) -> Cargo:  # fmt: skip
    def accept(memory: memoryview) -> None:
        if take is None:
            return
        if len(part):
            part.copy_(torch.frombuffer(memory, dtype=torch.float32, count=len(part)))
        if last:
            take(total)

    return Cargo(operation, len(given), lambda memory: pack(memory, [given]), accept)


def scattered(
    rows: Sequence[torch.Tensor], place: int, longest: int, take: Callable[[torch.Tensor], None]
) -> list[Cargo]:
    """Parts of a reduce-scatter of float32. `rows`: by rank of the group, flat and equally long, what is added for it.
    `take` gets the flat sum of this rank's row."""
    size, length = len(rows), rows[0].numel()
    given, total, step = [contents(row).reshape(-1) for row in rows], torch.empty(length), max(1, longest // len(rows))
    loads = []
    for start in range(0, max(1, length), step):
        words = min(step, length - start)

        def give(memory: memoryview, start: int = start, words: int = words) -> None:
            pack(memory, [row[start : start + words] for row in given])

        def accept(
            memory: memoryview, start: int = start, words: int = words, last: bool = start + step >= length
        ) -> None:
            if words:
                own = torch.frombuffer(memory, dtype=torch.float32, offset=_WORD * place * words, count=words)
                total[start : start + words].copy_(own)
            if last:
                take(total)

        loads.append(Cargo("reduce_scatter", size * words, give, accept))
    return loads


def _starts(lengths: Sequence[int]) -> list[int]:
    return [0, *accumulate(lengths)][:-1]


def _idle(memory: memoryview) -> None:
    pass

"""Transformers, from the parameters of their architectures. BERT (Devlin et al., 2019) has the uncased vocabulary and a
pooler. GPT-2 small (Radford et al., 2019) shares the weights of its output with the token embedding.

A layer is an embedding, a block, or what comes after the blocks. Work is per token of a full context.
"""

from __future__ import annotations

from collections.abc import Iterator

from workloads.models.layers import Layer, Model

__all__ = ["bert_base", "bert_large", "gpt2"]

_WORDPIECES, _BERT_POSITIONS, _SEGMENTS = 30522, 512, 2
_BYTE_PAIRS, _GPT_POSITIONS = 50257, 1024
_FEED_FORWARD = 4
"""times the hidden size"""


def _linear(inputs: int, outputs: int) -> tuple[int, int]:
    return inputs * outputs, outputs


def _norm(hidden: int) -> tuple[int, int]:
    return hidden, hidden


def _block_work(hidden: int, context: int) -> int:
    """Four projections, the feed-forward network, and attention over the context."""
    return (4 + 2 * _FEED_FORWARD) * hidden * hidden + 2 * context * hidden


def _bert(name: str, hidden: int, blocks: int) -> Model:
    def layers() -> Iterator[Layer]:
        tables = _WORDPIECES * hidden, _BERT_POSITIONS * hidden, _SEGMENTS * hidden
        yield Layer("embedding", (*tables, *_norm(hidden)))
        projections = _linear(hidden, hidden) * 4
        wide = _FEED_FORWARD * hidden
        block = (*projections, *_norm(hidden), *_linear(hidden, wide), *_linear(wide, hidden), *_norm(hidden))
        for index in range(1, blocks + 1):
            yield Layer(f"block{index}", block, _block_work(hidden, _BERT_POSITIONS))
        # One token of a context passes the pooler.
        yield Layer("pooler", _linear(hidden, hidden), hidden * hidden // _BERT_POSITIONS)

    return Model(name, tuple(layers()))


def bert_base() -> Model:
    return _bert("bert-base", 768, 12)


def bert_large() -> Model:
    return _bert("bert-large", 1024, 24)


def gpt2() -> Model:
    hidden, blocks = 768, 12

    def layers() -> Iterator[Layer]:
        yield Layer("embedding", (_BYTE_PAIRS * hidden, _GPT_POSITIONS * hidden))
        wide = _FEED_FORWARD * hidden
        attention = *_norm(hidden), *_linear(hidden, 3 * hidden), *_linear(hidden, hidden)
        block = (*attention, *_norm(hidden), *_linear(hidden, wide), *_linear(wide, hidden))
        for index in range(1, blocks + 1):
            yield Layer(f"block{index}", block, _block_work(hidden, _GPT_POSITIONS))
        yield Layer("output", _norm(hidden), _BYTE_PAIRS * hidden)

    return Model("gpt2", tuple(layers()))

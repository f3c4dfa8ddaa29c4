"""Reductions of values that all ranks gave: one fold, in rank order; and what is done before and after a sum.

AVG is the sum, in the order of the protocol, then one division by the number of ranks. PREMUL_SUM (NCCL's) multiplies
each rank's values by a factor, then adds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from workloads.torch_backend.tensors import dtype_of

__all__ = ["combine", "is_sum", "mean_of", "name_of", "scaled"]

_OPS = {
    "sum": dist.ReduceOp.SUM, "avg": dist.ReduceOp.AVG, "product": dist.ReduceOp.PRODUCT, "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX, "band": dist.ReduceOp.BAND, "bor": dist.ReduceOp.BOR, "bxor": dist.ReduceOp.BXOR,
}  # fmt: skip
_PREMUL = "premul_sum"


def name_of(opts: Any, what: str, tensors: list[torch.Tensor]) -> str:
    """Name of the reduction. Raises ValueError for one that the backend does not have, or not for that dtype."""
    wanted = dist.ReduceOp.SUM if opts is None else opts.reduceOp
    name = next((name for name, op in _OPS.items() if wanted == op), None)
    if wanted == dist.ReduceOp.PREMUL_SUM:
        name = f"{_PREMUL} of {_factor(wanted):g}"
    if name is None:
        known = ", ".join((*_OPS, _PREMUL))
        raise ValueError(f"the backend ina does {what} with {known}, and was asked for {wanted}")
    for tensor in tensors:
        try:
            combine(name, [tensor.detach().new_ones(1)] * 2)
        except (RuntimeError, ValueError) as error:
            raise ValueError(
                f"the backend ina cannot do {what} ({name}) of {dtype_of([tensor])}: {str(error).splitlines()[0]}"
            ) from None
    return name


def _factor(wanted: Any) -> float:
    """Of a PREMUL_SUM."""
    factor = wanted.__getstate__()[1]  # torch shows it nowhere else
    return float(factor.item() if isinstance(factor, torch.Tensor) else factor)


def scaled(tensors: Sequence[torch.Tensor], opts: Any) -> list[torch.Tensor]:
    """What a rank adds: the tensors, or for a PREMUL_SUM copies that are multiplied."""
    if opts is None or opts.reduceOp != dist.ReduceOp.PREMUL_SUM:
        return list(tensors)
    factor = _factor(opts.reduceOp)
    return [(tensor.detach() * factor).to(tensor.dtype) for tensor in tensors]


def is_sum(op: str) -> bool:
    """Whether a network that adds can do it."""
    return op in ("sum", "avg") or op.startswith(_PREMUL)


def mean_of(op: str, total: torch.Tensor, ranks: int) -> torch.Tensor:
    """What becomes of a sum of floats."""
    return total.div_(ranks) if op == "avg" else total


def combine(op: str, values: list[torch.Tensor]) -> torch.Tensor:
    """Folded in rank order, in the dtype of the values. The mean of integers is their sum, which wraps as that of any
    integers, divided and cut towards zero. Raises ValueError or RuntimeError for what has no such reduction."""
    if op == "avg" and values[0].dtype == torch.bool:
        raise ValueError("truth values have no mean; take max or min, or make floats of them")
    total = values[0].clone()
    for value in values[1:]:
        total = _combined(op, total, value)
    if op == "avg":
        whole = not (total.is_floating_point() or total.is_complex())
        total = torch.div(total, len(values), rounding_mode="trunc" if whole else None)
    return total


def _combined(op: str, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    if op.startswith(_PREMUL):
        return left + right
    match op:
        case "sum" | "avg":
            return left + right
        case "product":
            return left * right
        case "min":
            return torch.minimum(left, right)
        case "max":
            return torch.maximum(left, right)
        case "band":
            return torch.bitwise_and(left, right)
        case "bor":
            return torch.bitwise_or(left, right)
        case "bxor":
            return torch.bitwise_xor(left, right)
    raise ValueError(f"no reduction is named {op!r}")

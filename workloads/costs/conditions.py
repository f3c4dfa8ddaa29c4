"""When parallel NetReduce beats the flat ring, in closed form.

The difference T_PN - T_FR is M X - Y with
    X = 2(n-1)/(n B_intra) + 1/B_inter - 2(P-1)/(P B_inter)     what a byte costs more
    Y = 2(P-1) alpha - alpha_NR - 2(n-1) alpha_i                 the latency that is saved.
So PN wins if and only if M X < Y. For every M at once it suffices that X < 0 and Y >= 0. X < 0 is
B_intra/B_inter > 2(n-1)P / (n(P-2)) (protocol text, section 9; derived there, not in the paper).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workloads.costs.hierarchical import EqualMachines
from workloads.errors import ScenarioError

__all__ = [
    "Statement",
    "crossover_alpha_s",
    "crossover_ratio",
    "crossover_size_bytes",
    "state_condition",
    "threshold_ratio",
]


@dataclass(frozen=True, slots=True)
class Statement:
    """A comparison of parallel NetReduce with the flat ring on given machines, for one size."""

    threshold_ratio: float
    """B_intra/B_inter above which a byte is cheaper with PN; infinite when it never is (two GPUs)"""
    ratio: float
    """B_intra/B_inter of these machines"""
    saves_latency: bool
    """alpha_NR + 2(n-1) alpha_i <= 2(P-1) alpha"""
    always: bool
    """the sufficient condition: PN < FR for every size"""
    wins: bool
    """PN < FR for this size"""
    crossover_alpha_s: float | None
    """alpha* where both are equal; PN wins above it. None: PN wins, or loses, at every alpha"""
    crossover_size_bytes: float | None
    """M* where both are equal; PN wins below it when X > 0, above it when X < 0. None: no size above 0 is"""
    crossover_ratio: float | None
    """B_intra/B_inter where both are equal; PN wins above it. None: there is none at or above 1"""

    def __str__(self) -> str:
        above = "above" if self.ratio > self.threshold_ratio else "not above"
        text = f"B_intra/B_inter {self.ratio:.4g} is {above} the threshold {self.threshold_ratio:.4g}"
        if self.always:
            return f"{text} and latency is saved: PN beats FR for every size"
        text += f"; PN {'beats' if self.wins else 'does not beat'} FR for this size"
        if self.crossover_alpha_s is not None:
            text += f", equal at alpha* = {self.crossover_alpha_s * 1e6:.4g} us"
        if self.crossover_size_bytes is not None:
            text += f", equal at M* = {self.crossover_size_bytes:.4g} B"
        return text


def threshold_ratio(gpus: int, per_machine: int) -> float:
    """2(n-1)P / (n(P-2)); infinite for P = 2."""
    return math.inf if gpus == 2 else 2 * (per_machine - 1) * gpus / (per_machine * (gpus - 2))


def state_condition(machines: EqualMachines, size_bytes: float) -> Statement:
    """For gradients of `size_bytes`, above 0. Raises ScenarioError otherwise."""
    if not 0 < size_bytes < math.inf:
        raise ScenarioError("out of range", key="size_bytes", found=str(size_bytes), allowed="more than 0")
    threshold, ratio = threshold_ratio(machines.gpus, machines.per_machine), machines.intra_bps / machines.inter_bps
    saved = _latency_saved_s(machines)
    return Statement(
        threshold_ratio=threshold,
        ratio=ratio,
        saves_latency=saved >= 0,
        always=ratio > threshold and saved >= 0,
        wins=size_bytes * _byte_cost_s(machines) < saved,
        crossover_alpha_s=crossover_alpha_s(machines, size_bytes),
        crossover_size_bytes=crossover_size_bytes(machines),
        crossover_ratio=crossover_ratio(machines, size_bytes),
    )


def crossover_alpha_s(machines: EqualMachines, size_bytes: float) -> float | None:
    """alpha* > 0 where T_PN = T_FR, all else as it is; with `switch_alpha_s` None, alpha_NR moves along as 2 alpha.
    None when there is no such alpha."""
    p, n = machines.gpus, machines.per_machine
    own = machines.switch_alpha_s
    hops = 2 * (p - 1) - (2 if own is None else 0)
    fixed = size_bytes * _byte_cost_s(machines) + 2 * (n - 1) * machines.inner_alpha_s + (own or 0.0)
    return fixed / hops if hops > 0 and fixed > 0 else None


def crossover_size_bytes(machines: EqualMachines) -> float | None:
    """M* > 0 where T_PN = T_FR. None when there is no such size."""
    cost, saved = _byte_cost_s(machines), _latency_saved_s(machines)
    return saved / cost if cost * saved > 0 else None


def crossover_ratio(machines: EqualMachines, size_bytes: float) -> float | None:
    """B_intra/B_inter where T_PN = T_FR, with this B_inter. None when there is none at or above 1."""
    p, n = machines.gpus, machines.per_machine
    room = _latency_saved_s(machines) * machines.inter_bps / (8 * size_bytes) + 2 * (p - 1) / p - 1
    ratio = 2 * (n - 1) / n / room if room > 0 else 0.0
    return ratio if ratio >= 1 else None


def _byte_cost_s(machines: EqualMachines) -> float:
    """X, seconds per byte"""
    p, n = machines.gpus, machines.per_machine
    return 8 * (2 * (n - 1) / (n * machines.intra_bps) + (1 - 2 * (p - 1) / p) / machines.inter_bps)


def _latency_saved_s(machines: EqualMachines) -> float:
    """Y, seconds"""
    p, n = machines.gpus, machines.per_machine
    return 2 * (p - 1) * machines.alpha_s - machines.netreduce_alpha_s - 2 * (n - 1) * machines.inner_alpha_s

"""Cost of all-reduce over machines of several GPUs.

Two families, with different hardware; never mix them.

- `flat_ring` (FR), `tencent` (TA), `parallel_netreduce` (PN): the NetReduce paper's comparison, ONE NIC per machine.
  The names are the paper's; the formulas are reconstructed (protocol text, section 9).
- `hier_ring`, `hier_ina`: one NIC per GPU.

Rates are bits per second, sizes bytes, times seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workloads.costs.checks import check_link, check_ranks
from workloads.errors import ScenarioError

__all__ = [
    "EqualMachines",
    "flat_ring",
    "hier_ina",
    "hier_ring",
    "netreduce_rack",
    "parallel_netreduce",
    "tencent",
]


@dataclass(frozen=True, slots=True)
class EqualMachines:
    """P GPUs in P/n equal machines with one NIC each. Raises ScenarioError when that is not what the values say."""

    gpus: int
    """P"""
    per_machine: int
    """n"""
    inter_bps: float
    """rate of a machine's NIC, each way"""
    intra_bps: float
    """rate of a link between two GPUs of a machine, each way; the formulas are made for at least `inter_bps`"""
    alpha_s: float
    """latency of a hop of a ring between GPUs or machines"""
    inner_alpha_s: float = 0.0
    """alpha_i: of a hop inside a machine, in the phases that stay there"""
    switch_alpha_s: float | None = None
    """alpha_NR: of one aggregation in the network; None: 2 alpha (a hop and the detour through the accelerator)"""

    def __post_init__(self) -> None:
        check_ranks(self.gpus)
        if self.per_machine < 1 or self.gpus % self.per_machine:
            raise ScenarioError(
                "the GPUs do not fill the machines", key="gpus", found=f"{self.gpus} in machines of {self.per_machine}",
                allowed=f"a multiple of {max(self.per_machine, 1)}",
            )  # fmt: skip
        for rate in (self.inter_bps, self.intra_bps):
            check_link(0, rate, self.alpha_s)
        for latency in (self.inner_alpha_s, self.switch_alpha_s or 0.0):
            check_link(0, 1, latency)

    @property
    def machines(self) -> int:
        """P/n"""
        return self.gpus // self.per_machine

    @property
    def netreduce_alpha_s(self) -> float:
        """alpha_NR"""
        return 2 * self.alpha_s if self.switch_alpha_s is None else self.switch_alpha_s


def flat_ring(machines: EqualMachines, size_bytes: float) -> float:
    """T_FR = 2(P-1) alpha + 2(P-1)/P M/B_inter: one ring over all GPUs, as fast as its slowest link."""
    p = machines.gpus
    return 2 * (p - 1) * machines.alpha_s + 2 * (p - 1) / p * _on(machines.inter_bps, size_bytes)


def tencent(machines: EqualMachines, size_bytes: float) -> float:
    """T_TA = 2 M/B_intra + 2(P/n-1) alpha + 2(P-n)/P M/B_inter + 2(n-1) alpha_i: reduce to a master GPU per machine, a
    ring of the masters, broadcast. The first term stands for n = 1 as well, as the formula is written."""
    p, n = machines.gpus, machines.per_machine
    inside = 2 * _on(machines.intra_bps, size_bytes)
    between = 2 * (p / n - 1) * machines.alpha_s + 2 * (p - n) / p * _on(machines.inter_bps, size_bytes)
    return inside + between + _inner_latency(machines)


def parallel_netreduce(machines: EqualMachines, size_bytes: float) -> float:
    """T_PN = 2(n-1)/n M/B_intra + M/B_inter + alpha_NR + 2(n-1) alpha_i: reduce-scatter inside, n aggregations that
    share the NIC, all-gather inside."""
    n = machines.per_machine
    inside = 2 * (n - 1) / n * _on(machines.intra_bps, size_bytes)
    return inside + netreduce_rack(machines, size_bytes) + _inner_latency(machines)


def netreduce_rack(machines: EqualMachines, size_bytes: float) -> float:
    """T_NR = alpha_NR + M/B_inter: what is left of PN with one GPU per machine."""
    return machines.netreduce_alpha_s + _on(machines.inter_bps, size_bytes)


def hier_ring(
    per_host: int, hosts: int, size_bytes: float, bandwidth_bps: float, alpha_s: float,
    inner_bps: float, inner_alpha_s: float,
) -> float:  # fmt: skip
    """2(m-1) a1 + 2(m-1)/m n b1 + 2(H-1) a + 2(H-1)/H (n/m) b: m GPUs per host, each with a NIC of its own."""
    check_ranks(hosts)
    inside = _inside(per_host, size_bytes, inner_bps, inner_alpha_s)
    check_link(size_bytes, bandwidth_bps, alpha_s)
    share = _on(bandwidth_bps, size_bytes) / per_host
    return inside + 2 * (hosts - 1) * alpha_s + 2 * (hosts - 1) / hosts * share


def hier_ina(
    per_host: int, hosts: int, size_bytes: float, bandwidth_bps: float, alpha_s: float,
    inner_bps: float, inner_alpha_s: float,
) -> float:  # fmt: skip
    """2(m-1) a1 + 2(m-1)/m n b1 + 2 a + (n/m) b: as `hier_ring`, with aggregation between the hosts."""
    check_ranks(hosts)
    inside = _inside(per_host, size_bytes, inner_bps, inner_alpha_s)
    check_link(size_bytes, bandwidth_bps, alpha_s)
    return inside + 2 * alpha_s + _on(bandwidth_bps, size_bytes) / per_host


def _inside(per_host: int, size_bytes: float, inner_bps: float, inner_alpha_s: float) -> float:
    check_ranks(per_host, 1)
    check_link(size_bytes, inner_bps, inner_alpha_s)
    return 2 * (per_host - 1) * inner_alpha_s + 2 * (per_host - 1) / per_host * _on(inner_bps, size_bytes)


def _inner_latency(machines: EqualMachines) -> float:
    return 2 * (machines.per_machine - 1) * machines.inner_alpha_s


def _on(rate_bps: float, size_bytes: float) -> float:
    if not 0 <= size_bytes < math.inf:
        raise ScenarioError("out of range", key="size_bytes", found=str(size_bytes), allowed="0 or more")
    return size_bytes * 8 / rate_bps

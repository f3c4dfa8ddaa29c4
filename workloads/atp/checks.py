"""What a configuration of an ATP or ESA worker must keep."""

from __future__ import annotations

from workloads.atp.config import POLICIES, AtpConfig
from workloads.errors import ScenarioError
from workloads.wire.aggregation import MAX_ELEMENTS, MAX_GRID_ELEMENTS

__all__ = ["DTYPES", "MAX_MEMORY", "MAX_WORKERS", "check_config"]

DTYPES = ("float32", "int32", "int32sat")
MAX_WORKERS = 32
"""bits of a bitmap"""
MAX_MEMORY = 1 << 16
"""indices that a header can name"""


def check_config(config: AtpConfig) -> None:
    """Raises ScenarioError."""
    share = config.collective

    def refuse(problem: str, key: str, found: object, allowed: str) -> ScenarioError:
        return ScenarioError(f"worker {config.name}: {problem}", key=key, found=str(found), allowed=allowed)

    if share.kind not in POLICIES:
        raise refuse("collective", "job.collective", share.kind, ", ".join(POLICIES))
    if share.arithmetic.op != "sum" or share.arithmetic.dtype not in DTYPES:
        found = f"{share.arithmetic.op} of {share.arithmetic.dtype}"
        raise refuse(f"{share.kind} only sums", "job.op", found, f"sum of {', '.join(DTYPES)}")
    if not 1 <= share.size <= MAX_WORKERS or not 0 <= share.rank < share.size:
        raise refuse("rank and size", "collective", f"{share.rank} of {share.size}", "a rank of 1 to 32 workers")
    most = MAX_GRID_ELEMENTS if share.kind == "grid" else MAX_ELEMENTS
    if not 2 <= config.elements <= most or config.elements % 2:
        raise refuse("elements of a packet", "elements", config.elements, f"an even number from 2 to {most}")
    if config.fixed_scale is not None and (share.arithmetic.dtype != "float32" or config.fixed_scale <= 0):
        found = f"{config.fixed_scale:g} for {share.arithmetic.dtype}"
        raise refuse("fixed scale", "fixed_scale", found, "above 0, for float32")
    if config.window < 1:
        raise refuse("window", "window", config.window, "1 or more packets")
    if not 1 <= config.memory <= MAX_MEMORY:
        raise refuse("aggregators", "switch.memory", config.memory, f"1 .. {MAX_MEMORY}")
    if len(config.envelope.src_ip) != 4 or len(config.envelope.dst_ip) != 4:
        raise refuse("addresses", "envelope", config.envelope.src_ip.hex(), "IPv4")

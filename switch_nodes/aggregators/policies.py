"""The two programs: ATP, and ESA as reconstructed here (`docs/esa.md`), which is ATP and what its knobs add."""

from __future__ import annotations

from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.tables import atp_knobs
from switch_nodes.config import SwitchConfig
from workloads.wire.aggregation import Policy

__all__ = ["AtpProgram", "EsaProgram"]


class AtpProgram(AggregatorProgram):
    """ATP (Lao et al., NSDI 2021), with `SwitchConfig.knobs.reclaim`."""

    policy = Policy.ATP

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config, atp_knobs(config.knobs.reclaim))


class EsaProgram(AggregatorProgram):
    """ESA as reconstructed here, with `SwitchConfig.knobs`."""

    policy = Policy.ESA

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config, config.knobs)

"""Program `ps`: what switches do for a plain parameter server (docs/ps.md).

Slots, bitmaps, copies and the two levels of racks are those of ATP's program; which of them a job wants, its
`JobConfig` says: `adds`, and results that the server addresses to the service are copied. A job that wants neither is
not told to the switch, which then forwards.
"""

from __future__ import annotations

from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.policies import atp_knobs
from switch_nodes.config import SwitchConfig
from workloads.wire.aggregation import Policy

__all__ = ["PsProgram"]


class PsProgram(AggregatorProgram):
    """Raises ScenarioError for jobs that cannot be served."""

    policy = Policy.PS

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config, atp_knobs(config.knobs.reclaim))

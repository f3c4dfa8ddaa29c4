"""Program `ps`: what switches do for a plain parameter server (docs/ps.md).

Slots and bitmaps are those of ATP's program; where ATP has two levels, packets here follow trees. Which optimisations a
job wants its `JobConfig` says: `adds`, and results that the server addresses to the service are copied. A job that
wants neither is not configured at the switch, which then forwards.
"""

from __future__ import annotations

from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.tables import atp_knobs
from switch_nodes.config import SwitchConfig
from switch_nodes.ps.service import PsService
from switch_nodes.ps.trees import TreeJob, check_trees
from workloads.wire.aggregation import Policy

__all__ = ["PsProgram"]


class PsProgram(PsService, AggregatorProgram):
    """Raises ScenarioError for jobs that cannot be served."""

    policy = Policy.PS
    job_class = TreeJob

    def __init__(self, config: SwitchConfig) -> None:
        check_trees(config)
        AggregatorProgram.__init__(self, config, atp_knobs(config.knobs.reclaim))

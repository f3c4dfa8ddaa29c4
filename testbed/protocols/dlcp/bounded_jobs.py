"""Who judges a DLCP job, by what the job is."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.protocols.dlcp.bounded_ring import RingJob
from testbed.protocols.dlcp.bounded_server import ServerJob
from testbed.protocols.dlcp.bounded_told import Findings, JobJudge, ToldLoss
from workloads.dlcp import DlcpConfig

__all__ = ["job_judge"]


def job_judge(hosts: Sequence[DlcpConfig], told: ToldLoss, findings: Findings) -> JobJudge:
    """`hosts`: by rank."""
    return (RingJob if hosts[0].ring else ServerJob)(hosts, told, findings)

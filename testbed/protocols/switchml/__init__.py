"""SwitchML: each host streams its gradient through slots of the switch (docs/switchml.md)."""

from __future__ import annotations

from switch_nodes.switchml.tables import SLOT_TABLE
from testbed.protocols.switchml.checks import check_switchml, check_switchml_fault
from testbed.scenario.protocol import Hunt, Protocol, Traits
from workloads.lazily import later
from workloads.switchml import SwitchMlConfig
from workloads.switchml.checks import problems_in_worker

__all__ = ["PROTOCOL"]

PROTOCOL = Protocol(
    name="switchml",
    summary="each host streams its gradient through slots of the switch, over UDP or RoCE UC (program switchml)",
    plan=later("testbed.protocols.switchml.plan:plan_switchml"),
    programs=("switchml",),
    traits=Traits(
        in_place=True,
        several_jobs=True,
        layered=True,
        floats_as_integers=True,
        framings=("udp", "uc"),
        largest_mtu=1024,
    ),
    checks=(check_switchml,),
    check_fault=check_switchml_fault,
    order=later("testbed.checkers.orders:quantised"),
    blocks=later("testbed.checkers.blocks:blocks_with_exponents"),
    worker=SwitchMlConfig,
    worker_problems=problems_in_worker,
    hunt=Hunt({"float32": 45, "int32": 55}, SLOT_TABLE.steps, values_per_index=2),
)

"""SwitchML with gradients in bfloat16 (docs/bf16.md)."""

from collections.abc import Sequence
from dataclasses import fields, replace

from testbed.checkers.blocks import blocks_with_exponents
from testbed.checkers.folds import Array
from testbed.checkers.orders import quantised
from testbed.plan import Plan, plan_as
from testbed.protocols.switchml.checks import check_switchml, check_switchml_fault
from testbed.scenario.model import Scenario
from testbed.scenario.protocol import Hunt, Protocol, Traits
from workloads.bf16 import Bf16Config
from workloads.bf16.worker import cut
from workloads.config import HostConfig
from workloads.switchml.checks import problems_in_worker

__all__ = ["PROTOCOL"]


def plan(scenario: Scenario) -> Plan:
    """That of SwitchML, for workers that cut."""
    found = plan_as("switchml", scenario)
    workers = [{field.name: getattr(each, field.name) for field in fields(each)} for each in found.workers]
    return replace(found, workers=tuple(Bf16Config(**values) for values in workers))


def order(plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
    """SwitchML's, of gradients that are cut."""
    return quantised(plan, workers, [cut(gradient) for gradient in gradients])


PROTOCOL = Protocol(
    name="bf16",
    summary="as switchml, with floats cut to bfloat16 (program bf16)",
    plan=plan,
    programs=("bf16",),
    traits=Traits(several_jobs=True, layered=True, floats_as_integers=True, framings=("udp", "uc"), largest_mtu=1024),
    checks=(check_switchml,),
    check_fault=check_switchml_fault,
    order=order,
    blocks=blocks_with_exponents,
    worker=Bf16Config,
    worker_problems=problems_in_worker,
    hunt=Hunt({"float32": 1, "int32": 1}, values_per_index=2),
)

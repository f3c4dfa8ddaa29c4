"""One task -> seconds, by the model that it names; and the version of the code that a result depends on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from testbed.runs.codeversion import model_version
from testbed.scale.contract import ScaledProtocol
from testbed.scale.machine_messages import MessageWindow, machine_message_level
from testbed.scale.machine_streams import machine_flow_level
from testbed.scale.model import RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.rack import flow_level, message_level
from testbed.scenario.protocols.known import protocols
from testbed.sweeps.model import PointTask
from testbed.sweeps.parameters import formulas_of_rack
from workloads.costs import EqualMachines, flat_cost, machine_cost
from workloads.errors import InternalError

__all__ = ["code_version", "evaluate", "machines_of"]

_HERE = Path(__file__).resolve()
_MODULES: dict[str, tuple[str, ...]] = {
    "formula": ("workloads.costs",),
    "flow": ("testbed.scale.machine_streams", "testbed.scale.rack"),
    "message": ("testbed.scale.machine_messages", "testbed.scale.rack"),
    "packet": ("testbed.scale.packet",),
}
"""modules where the figures of a model come from, without this module and its neighbours"""


def _protocols_with_models() -> list[str]:
    """Modules of protocols, which no other module imports by name."""
    return sorted(
        type(each).__module__
        for each in protocols()
        if isinstance(each, ScaledProtocol) and each.rack_model() is not None
    )


def code_version(model: str) -> str:
    """Of the sources that the model's results come from, all that they import and C included: a change of them makes
    stored results stale."""
    more = () if model == "formula" else _protocols_with_models()
    return model_version(*_MODULES[model], *more, also=(_HERE, _HERE.with_name("parameters.py")))


def evaluate(task: PointTask) -> dict[str, Any]:
    """The result's figures. Raises ScenarioError for a point that the model cannot do."""
    began = time.perf_counter()
    outcome = _machines(task) if task.family == "machines" else _rack(task)
    return {
        "seconds": outcome.seconds,
        "packet_hops": outcome.packet_hops,
        "events": outcome.events,
        "wall_s": round(time.perf_counter() - began, 6),
    }


def machines_of(values: dict[str, int]) -> EqualMachines:
    """Of the parameters of a point."""
    own = values["switch_alpha"]
    return EqualMachines(
        values["gpus"], values["gpus_per_machine"], values["inter_rate"], values["intra_rate"], values["alpha"] / 1e9,
        values["inner_alpha"] / 1e9, None if own < 0 else own / 1e9,
    )  # fmt: skip


def _machines(task: PointTask) -> ScaleOutcome:
    values, place = task.values, machines_of(task.values)
    if task.model == "formula":
        return ScaleOutcome(machine_cost(task.algorithm).seconds(place, values["size"]))
    if task.model == "flow":
        return machine_flow_level(task.algorithm, place, values["size"])
    if task.model == "message":
        window = MessageWindow(values["window_messages"], values["message_packets"])
        return machine_message_level(task.algorithm, place, values["size"], window)
    raise InternalError(f"no {task.model} model of machines")


def _rack(task: PointTask) -> ScaleOutcome:
    values = task.values
    if task.model == "formula":
        name = formulas_of_rack().get(task.algorithm, task.algorithm)
        cost = flat_cost(name).seconds(values["hosts"], values["size"], values["rate"], values["alpha"] / 1e9)
        return ScaleOutcome(cost)
    point = RackPoint(
        values["hosts"], values["size"], values["rate"], values["alpha"] / 2, values["message_packets"],
        values["window_messages"], values["path_mtu"],
    )  # fmt: skip
    if task.model == "flow":
        return flow_level(task.algorithm, point)
    if task.model == "message":
        return message_level(task.algorithm, point)
    from testbed.scale.packet import packet_level

    return packet_level(task.algorithm, point)

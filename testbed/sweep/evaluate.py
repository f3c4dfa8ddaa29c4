"""One task -> seconds, by the model that it names; and the version of the code that a result depends on."""

from __future__ import annotations

import hashlib
import time
from functools import cache
from pathlib import Path
from typing import Any

from testbed.scale.machine_flows import machine_flow_level
from testbed.scale.machine_messages import Window, machine_message_level
from testbed.scale.outcome import Outcome
from testbed.scale.rack import RackPoint, flow_level, message_level
from testbed.sweep.model import Task
from testbed.sweep.parameters import FORMULAS_OF_RACK
from workloads.costs import Machines, flat_cost, machine_cost
from workloads.errors import InternalError

__all__ = ["code_version", "evaluate", "machines_of"]

_TOP = Path(__file__).resolve().parents[2]
_FAST = ("workloads/costs", "testbed/scale", "workloads/collectives")
_CODE: dict[str, tuple[str, ...]] = {
    "formula": ("workloads/costs",),
    "flow": _FAST,
    "message": _FAST,
    "packet": (
        "workloads",
        "switch_nodes",
        "topologies",
        "testbed/worlds/simulated",
        "testbed/faults",
        "testbed/plan",
    ),
}


@cache
def code_version(model: str) -> str:
    """Hash of the sources that the model's results come from: a change of them makes stored results stale."""
    digest = hashlib.sha256()
    for place in (*_CODE[model], "testbed/sweep/evaluate.py"):
        path = _TOP / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.relative_to(_TOP).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def evaluate(task: Task) -> dict[str, Any]:
    """The result's figures. Raises ScenarioError for a point that the model cannot do."""
    began = time.perf_counter()
    outcome = _machines(task) if task.family == "machines" else _rack(task)
    return {
        "seconds": outcome.seconds,
        "packet_hops": outcome.packet_hops,
        "events": outcome.events,
        "wall_s": round(time.perf_counter() - began, 6),
    }


def machines_of(values: dict[str, int]) -> Machines:
    """Of the parameters of a point."""
    own = values["switch_alpha"]
    return Machines(
        values["gpus"], values["gpus_per_machine"], values["inter_rate"], values["intra_rate"], values["alpha"] / 1e9,
        values["inner_alpha"] / 1e9, None if own < 0 else own / 1e9,
    )  # fmt: skip


def _machines(task: Task) -> Outcome:
    values, place = task.values, machines_of(task.values)
    if task.model == "formula":
        return Outcome(machine_cost(task.algorithm).seconds(place, values["size"]))
    if task.model == "flow":
        return machine_flow_level(task.algorithm, place, values["size"])
    if task.model == "message":
        window = Window(values["window_messages"], values["message_packets"])
        return machine_message_level(task.algorithm, place, values["size"], window)
    raise InternalError(f"no {task.model} model of machines")


def _rack(task: Task) -> Outcome:
    values = task.values
    if task.model == "formula":
        name = FORMULAS_OF_RACK.get(task.algorithm, task.algorithm)
        cost = flat_cost(name).seconds(values["hosts"], values["size"], values["rate"], values["alpha"] / 1e9)
        return Outcome(cost)
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

"""What the whole machine did while the traffic ran."""

from __future__ import annotations

from testbed.history.events import MachineMeasured
from testbed.kernel.load import MachineReading, processors, read_machine

__all__ = ["machine_load"]


def machine_load(before: MachineReading | None) -> MachineMeasured | None:
    """Since `before`. None: the machine does not tell."""
    after = read_machine()
    if before is None or after is None:
        return None
    waited = None
    if before.pressure_ns is not None and after.pressure_ns is not None:
        waited = after.pressure_ns - before.pressure_ns
    return MachineMeasured(
        processors(),
        after.at_ns - before.at_ns,
        after.busy_ns - before.busy_ns,
        after.stolen_ns - before.stolen_ns,
        waited,
    )

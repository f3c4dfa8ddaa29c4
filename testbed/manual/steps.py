"""Steps of the lab, from the drivers that declare them."""

from __future__ import annotations

from testbed.lab.drivers import HostDriver, LabCardDriver
from testbed.manual.tables import table

__all__ = ["lab_steps"]


def lab_steps() -> str:
    """Table of all steps: what each does, which steps it needs, and which step undoes it."""
    rows = [
        (
            kind, f"`{step.name}`", step.does, ", ".join(step.needs),
            f"{step.undone_by}{f', or with {step.undone_with}' if step.undone_with else ''}",
        )
        for kind, driver in (("host", HostDriver), ("card", LabCardDriver))
        for step in driver.steps.values()
    ]  # fmt: skip
    return table(("of a", "step", "does", "needs", "undone by"), rows)

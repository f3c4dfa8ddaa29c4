"""The sweeps that are built in: `playbooks/sweeps/NAME.yaml`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from testbed.scenario.builtin import top_keys

__all__ = ["SWEEPS", "builtin_sweeps", "describe_sweep", "sweep_file"]

SWEEPS = Path("playbooks") / "sweeps"
_TOP = Path(str(files("playbooks"))).parent


def builtin_sweeps() -> tuple[str, ...]:
    """In alphabetical order."""
    return tuple(sorted(path.stem for path in (_TOP / SWEEPS).glob("*.yaml")))


def sweep_file(name: str) -> Path:
    return _TOP / SWEEPS / f"{name}.yaml"


def describe_sweep(name: str) -> str:
    """The description of a built-in."""
    return top_keys(sweep_file(name)).get("description", "")

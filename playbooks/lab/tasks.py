"""Steps of a lab as fabric tasks: `fab -r playbooks/lab --collection tasks check --inventory lab.yaml --on workers`.
Each is made from the declaration of the step (`testbed/lab/drivers`)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from inspect import Parameter
from pathlib import Path
from typing import Any

from invoke import Context, Task, task

from testbed.history.lab_events import LabStep
from testbed.lab.drivers import Driver, DriverStep, HostDriver, LabCardDriver
from testbed.lab.inventory import load_inventory
from testbed.lab.lab import Lab
from workloads.trusted import require_trusted


def _tell(step: LabStep) -> None:
    print(f"{step.host:<10} {step.step:<10} {step.seconds:7.2f} s  {step.verdict:<9} {step.detail}", file=sys.stderr)


@contextmanager
def _driver(kind: type[Driver], inventory: str, where: str | None, *, changes: bool) -> Iterator[Driver]:
    with Lab(load_inventory(Path(inventory)), _tell) as lab, lab.owner.alone() if changes else nullcontext():
        if kind is LabCardDriver:
            yield LabCardDriver(lab, where)
        else:
            yield kind(lab, lab.inventory.select([name for name in (where or "").split(",") if name]))


def _folder(step: str, key: str, word: str) -> Path:
    path = Path(word)
    require_trusted(path, file=step, key=f"--{key}")
    return path


_FROM_WORDS: dict[str, Callable[[str, str, Any], Any]] = {
    "bitstream": lambda step, key, word: Path(word).read_bytes(),
    "config": lambda step, key, word: Path(word).read_text(encoding="utf-8"),
    "label": lambda step, key, word: word,
    "mtu": lambda step, key, word: int(word),
    "out": _folder,
    "run": lambda step, key, word: word,
}
"""what a person says of a parameter -> what the step is told; others are not for people"""


def _made(kind: type[Driver], step: DriverStep) -> Task[Any]:
    """Its parameters, then `card`, or the hosts `on` which it is done (default: all)."""
    where = "card" if kind is LabCardDriver else "on"
    keys = [key for key in step.parameters if key in _FROM_WORDS]

    def body(context: Context, inventory: str, **words: Any) -> None:
        arguments = {
            key: _FROM_WORDS[key](step.name, key, words.get(key, step.parameters[key].default)) for key in keys
        }
        with _driver(kind, inventory, words.get(where), changes=step.changes) as driver:
            driver.step(step.name)(**arguments)

    def parameter(name: str, default: Any = Parameter.empty) -> Parameter:
        return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)

    last = parameter(where, Parameter.empty if step.named else None)
    needed = [key for key in keys if step.parameters[key].default is Parameter.empty]
    more = [parameter(key, step.parameters[key].default) for key in keys if key not in needed]
    shown = [parameter("context"), parameter("inventory"), *map(parameter, needed)]
    shown += [last, *more] if step.named else [*more, last]
    body.__name__ = step.name.replace("-", "_")
    body.__doc__ = f"{step.does[0].upper()}{step.does[1:]}."
    body.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    made: Task[Any] = task(body)
    return made


for _kind in (HostDriver, LabCardDriver):
    for _step in _kind.steps.values():
        if _step.task:
            globals()[_step.name.replace("-", "_")] = _made(_kind, _step)

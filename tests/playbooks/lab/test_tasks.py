"""The fabric tasks: one for each step that is declared to be one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from invoke import Collection, Context

from playbooks.lab import tasks
from testbed.lab.drivers import HostDriver, LabCardDriver
from workloads.errors import LabError, ScenarioError

_WANTED = {
    "check": "inventory on", "deploy": "inventory on", "attach": "inventory label mtu on",
    "detach": "inventory label on",
    "collect": "inventory run out on", "power-cycle": "inventory on",
    "program": "inventory bitstream card", "configure": "inventory config card", "start": "inventory card",
    "stop": "inventory card", "reset": "inventory card",
}  # fmt: skip
_COLLECTION = Collection.from_module(tasks)


def _inventory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(folder / "none"))
    path = folder / "lab.yaml"
    path.write_text(
        "name: bench\nhosts: {h1: {address: 127.0.0.1, port: 9, interfaces: {data: {device: d0}}}}\ncards: {f: {host: "
        "h1, transport: 'udp:1.2.3.4:5'}}\n"
    )
    return str(path)


def _run(name: str, **words: Any) -> None:
    _COLLECTION[name](Context(), **words)


def test_every_step_that_is_a_task_is_there_with_its_parameters() -> None:
    assert {
        name: " ".join(list(inspect.signature(_COLLECTION[name].body).parameters)[1:])
        for name in _COLLECTION.task_names
    } == _WANTED
    declared = [step for driver in (HostDriver, LabCardDriver) for step in driver.steps.values() if step.task]
    assert sorted(step.name for step in declared) == sorted(_WANTED)
    for step in declared:
        assert str(_COLLECTION[step.name].__doc__).lower() == f"{step.does.lower()}."


def test_hosts_of_a_power_cycle_must_be_named() -> None:
    needed = {
        name: inspect.signature(_COLLECTION[name].body).parameters["on"].default for name in ("power-cycle", "check")
    }
    assert needed == {"power-cycle": inspect.Parameter.empty, "check": None}


@pytest.mark.parametrize(
    ("name", "words"),
    [("check", {}), ("start", {}), ("attach", {"mtu": "9000", "on": "h1"}), ("collect", {"run": "r", "out": "there"})],
)
def test_a_task_fails_as_its_step_does(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: dict[str, str],
) -> None:
    inventory = _inventory(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LabError, match=r"h1: unreachable: 127\.0\.0\.1 port 9: Connection refused"):
        _run(name, inventory=inventory, **words)
    assert capsys.readouterr().err.startswith(f"h1         {name} ")


def test_files_are_collected_where_nobody_else_can_change_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = _inventory(tmp_path, monkeypatch)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ScenarioError, match="collect: --out: others could change what is in this folder"):
        _run("collect", inventory=inventory, run="r", out=str(tmp_path / "open" / "r"))

"""The fabric tasks: there, documented, and thin."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from invoke import Collection, Context

from playbooks.lab import tasks
from testbed.lab import plays
from workloads.errors import LabError

_WANTED = {
    "check", "deploy", "program", "configure", "attach", "detach", "start", "stop", "collect", "reset", "power-cycle",
}  # fmt: skip


def test_every_task_of_the_playbook_is_there() -> None:
    collection = Collection.from_module(tasks)
    assert set(collection.task_names) == _WANTED
    assert all(collection[name].__doc__ for name in _WANTED)


def test_they_are_thin() -> None:
    tree = ast.parse(Path(tasks.__file__).read_text(encoding="utf-8"))
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list):
        assert len(function.body) <= 2, function.name
        if function.name not in ("_lab",):
            assert f"plays.{function.name}(" in ast.unparse(function)
            assert hasattr(plays, function.name)


def test_a_task_fails_as_its_play_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "none"))
    path = tmp_path / "lab.yaml"
    path.write_text("name: bench\nhosts: {h1: {address: 127.0.0.1, port: 9}}\n")
    with pytest.raises(LabError, match=r"h1: unreachable: 127\.0\.0\.1 port 9: Connection refused"):
        tasks.check(Context(), str(path))

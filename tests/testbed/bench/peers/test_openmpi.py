from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from testbed.bench.peers import gloo, openmpi


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = "OpenMPI (apt-get install openmpi-bin libopenmpi-dev)"
    monkeypatch.setattr(openmpi, "_has_headers", lambda: True)
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/mpicc" if name == "mpicc" else None)
    assert openmpi.missing() == everything
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert openmpi.missing() == ""
    monkeypatch.setattr(openmpi, "_has_headers", lambda: False)
    assert openmpi.missing() == everything
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert gloo.missing() == "torch (pip install torch==2.13.0)"


def test_the_agent_enters_the_namespace_of_the_address_that_it_is_given(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text(openmpi.agent_script({"h1": 11, "h2": 22}, {"h1": "10.0.0.1", "h2": "10.0.0.2"}))
    fake = tmp_path / "nsenter"
    fake.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    fake.chmod(0o700)
    done = subprocess.run(
        ["sh", agent, "10.0.0.2", "PATH=x;", "orted", "-mca", "a b"],
        capture_output=True, text=True, check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )  # fmt: skip
    words = done.stdout.split("|")
    assert words[0] == "--net=/proc/22/ns/net"
    assert words[-3:-1] == ["ina-h2", "PATH=x; orted -mca a b"]
    stranger = subprocess.run(["sh", agent, "10.0.0.20", "orted"], capture_output=True, text=True, check=False)
    assert (stranger.returncode, stranger.stderr) == (1, "no host 10.0.0.20\n")

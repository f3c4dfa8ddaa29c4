"""`tb docs`, up to what MkDocs does (`tests/testbed/manual/test_site.py`)."""

from __future__ import annotations

import socket
import subprocess

import pytest

from testbed.cli import documenting
from testbed.cli.main import main


@pytest.fixture
def calls(monkeypatch):
    """What is started in place of MkDocs, which ends with the first exit code of the list."""
    found, codes = [], [0]

    def run(command, **options):
        found.append((command, options))
        return subprocess.CompletedProcess(command, codes[0], stderr=b"a warning")

    monkeypatch.setattr(documenting.subprocess, "run", run)
    monkeypatch.setattr(documenting, "_is_installed", lambda name: True)
    return found, codes


def test_a_build_is_strict(calls, capsys):
    found, codes = calls
    assert main(["docs"]) == 0
    ((command, options),) = found
    assert command[3:] == ["mkdocs", "build", "--strict"]
    assert (options["cwd"] / "mkdocs.yml").is_file()
    assert "build/site/index.html" in capsys.readouterr().out
    codes[0] = 1
    assert main(["docs"]) == 1
    assert capsys.readouterr() == ("", "")


def test_the_site_is_served_on_loopback_alone(calls, capsys):
    found, _ = calls
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["docs", "--serve", "--port", str(port)]) == 64
        assert f"tb docs: --port: cannot be served; found {port}: Address already in use" in capsys.readouterr().err
    assert found == []
    assert main(["docs", "--serve", "--port", str(port)]) == 0
    assert found[0][0][-1] == f"127.0.0.1:{port}"


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_ports_are_ports(port, capsys):
    assert main(["docs", "--serve", "--port", port]) == 64
    assert "allowed: a whole number from 1 to 65535" in capsys.readouterr().err


def test_what_is_missing_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(documenting, "_is_installed", lambda name: name != "mkdocs")
    assert main(["docs"]) == 3
    said = capsys.readouterr().err
    assert "lacks the Python package mkdocs" in said
    assert "requirements-docs.txt" in said
    monkeypatch.setattr(documenting, "_TOP", tmp_path)
    assert main(["docs"]) == 3
    assert "clone the repository" in capsys.readouterr().err

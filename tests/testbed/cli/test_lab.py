"""`tb lab` without a lab: what it says, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.cli import main

_INVENTORY = """\
name: bench
defaults: {user: lab, base: /srv/ina}
hosts:
  gate: {address: gate.example}
  h1: {address: 10.0.0.1, jump: gate, interfaces: {data: {device: eth1, rdma: mlx5_0, switch_port: tor1/3}}}
  f1: {address: 10.0.0.9}
cards: {fpga0: {host: f1, transport: "udp:127.0.0.1:7077", ports: [h1.data]}}
groups: {workers: [h1]}
"""


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "run"))
    monkeypatch.delenv("INA_LAB", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bench.yaml"
    path.write_text(_INVENTORY)
    return str(path)


def test_list(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list", "--inventory", inventory]) == 0
    assert capsys.readouterr().out == (
        "gate       lab@gate.example:22\n"
        "h1         lab@10.0.0.1:22 through gate\n"
        "           data: eth1, MTU 1500, rdma mlx5_0, at tor1/3\n"
        "f1         lab@10.0.0.9:22\n"
        "fpga0      card of f1, udp:127.0.0.1:7077, ports: h1.data\n"
        "workers    group: h1\n"
    )


def test_a_dry_run_says_what_would_run_where(
    inventory: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["lab", "lease", "workers", "--dry-run", "--inventory", inventory]) == 0
    assert capsys.readouterr().out == "h1 (lab@10.0.0.1): ask the agent at /srv/ina/agent.sock: lease\n"
    assert main(["lab", "program", "fpga0", "--dry-run", "--inventory", inventory]) == 0
    assert capsys.readouterr().out == (
        "f1 (lab@10.0.0.9): send the bitstream to /srv/ina/bitstreams\n"
        "f1 (lab@10.0.0.9): ask the agent at /srv/ina/agent.sock: program\n"
    )
    (tmp_path / "one.yaml").write_text("name: s\ntopology: {kind: rack, hosts: 2}\n")
    two = _INVENTORY.replace("ports: [h1.data]", "ports: [h1.data, f1.data]").replace(
        "f1: {address: 10.0.0.9}", "f1: {address: 10.0.0.9, interfaces: {data: {device: eth2}}}"
    )
    (tmp_path / "two.yaml").write_text(two)
    assert main(["lab", "run", "one.yaml", "--dry-run", "--inventory", "two.yaml"]) == 0
    assert capsys.readouterr().out == (
        "h1 (lab@10.0.0.1): worker h1 on eth1\n"
        "f1 (lab@10.0.0.9): worker h2 on eth2\n"
        "f1 (lab@10.0.0.9): card fpga0 as switch s1\n"
    )
    for action in ("check", "deploy", "status", "release", "reset", "power-cycle", "trust"):
        assert main(["lab", action, "--dry-run", "--inventory", inventory]) == 0
        assert "{" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "h9"], "no such host or group; found 'h9'; allowed: workers, gate, h1, f1"),
        (["program", "fpga0"], "tb lab program: --bitstream: is missing; allowed: a file"),
        (["program", "fpga1"], "no such card; found 'fpga1'; allowed: fpga0"),
        (["lease", "--time", "5"], "tb lab: argument --time: found '5'; allowed: a number with ns, us, ms, s or min"),
        (["collect"], "tb lab collect: which run is meant; allowed: tb lab collect RUN [HOST ...]"),
        (["power-cycle"], "tb lab power-cycle: which hosts are meant"),
        (["console"], "tb lab console: which host is meant; allowed: one host"),
        (["run"], "tb lab run: which scenario is meant"),
        (["run", "rack"], "card fpga0 has fewer ports than the scenario has hosts"),
        (["run", "rack", "--dry-run"], "card fpga0 has fewer ports than the scenario has hosts"),
        (["up"], "tb lab up: --emulated: is missing"),
    ],
)
def test_mistakes_of_the_command_line(
    inventory: str, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["lab", *words, "--inventory", inventory]) == 64
    assert message in capsys.readouterr().err


def test_no_inventory_at_all(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list"]) == 64
    assert capsys.readouterr().err == (
        "tb lab: --inventory: there is no inventory; allowed: a file; or $INA_LAB, or lab.yaml here, or an emulated "
        "lab: tb lab up --emulated\n"
    )
    assert main(["lab", "down"]) == 75
    assert "no such lab is up" in capsys.readouterr().err


def test_hosts_that_cannot_be_reached(
    inventory: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "none"))
    (tmp_path / "lab.yaml").write_text("name: bench\nhosts: {h1: {address: 127.0.0.1, port: 9, connect_timeout: 2s}}\n")
    assert main(["lab", "check"]) == 75
    said = capsys.readouterr()
    assert said.err == "tb: h1: unreachable: 127.0.0.1 port 9: Connection refused\n"
    assert "failed    h1: unreachable" in said.out


def test_the_lab_world_wants_an_inventory(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "rack", "--world", "lab"]) == 64
    assert "there is no inventory" in capsys.readouterr().err
    assert main(["run", "rack", "--world", "simulated", "--inventory", inventory]) == 64
    assert "--inventory: means nothing in this world" in capsys.readouterr().err
    assert main(["run", "rack", "--world", "simulated", "--card", "fpga0"]) == 64
    assert "--card: is no card of this world" in capsys.readouterr().err
    assert main(["run", "rack", "--world", "lab", "--inventory", inventory]) == 64
    assert "card fpga0 has fewer ports than the scenario has hosts" in capsys.readouterr().err


def test_files_are_not_collected_where_others_could_change_them(
    inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert main(["lab", "collect", "run1", "--out", str(folder / "run1"), "--inventory", inventory]) == 64
    assert (
        "tb lab collect: --out: others could change what is in this folder; found everybody" in capsys.readouterr().err
    )

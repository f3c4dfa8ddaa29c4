"""A lab that is not as it should be: `tb run` ends with 75, the host's name and what is wrong with it, by itself, with
every lease given back, nothing running, and the card as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from testbed.lab.drivers import HostDriver, LabCardDriver
from testbed.lab.emulated.shape import PYTHON
from testbed.lab.inventory import load_inventory
from testbed.lab.package import build_package
from testbed.lab.ssh import open_shell
from tests.support.labs import bounded, halted, inventory_file, using
from tests.support.selection import some_at_once

pytestmark = pytest.mark.root
_SCENARIO = "name: small\nworld: lab\ntopology: {kind: rack, hosts: 2}\njob: {size: 4000}\ntime_limit: 20s\n"
_ADDRESS = "    address: 10.98.0.2\n"
_HOSTS = ("h1", "h2", "f1")


@pytest.fixture(scope="module")
def ready_lab(run_lab: Path, state: Path) -> Path:
    """Deployed, and its card programmed."""
    inventory = load_inventory(run_lab)
    with using(inventory, state) as (lab, _):
        hosts = inventory.select()
        HostDriver(lab, hosts).deploy()
        HostDriver(lab, hosts).lease(seconds=60)
        LabCardDriver(lab, "fpga0").program(bitstream=(run_lab.parent / "card.bit").read_bytes())
        HostDriver(lab, hosts).release()
    return run_lab


def _known(lab: Path, states: Path) -> dict[str, tuple[Any, ...]]:
    """What every host says of itself: leases, processes, guards, cards."""
    inventory = load_inventory(lab)
    with using(inventory, states) as (client, _):
        found = HostDriver(client, inventory.select()).status()
        for host in inventory.hosts.values():
            assert client.shell(host).run(["pgrep", "-f", "testbed [w]orker"], check=False).stdout == b"", host.name
    return {name: (hello.leases, hello.running, hello.attached, hello.cards) for name, hello in found.items()}


@contextmanager
def _nothing(lab: Path) -> Iterator[None]:
    yield


@contextmanager
def _scripted(lab: Path, text: str) -> Iterator[None]:
    """A script of the user on h2, which the inventory names as its Python."""
    inventory = load_inventory(lab)
    with open_shell(inventory, inventory.hosts["h2"]) as shell:
        shell.run(["sh", "-c", 'printf "#!/bin/sh\\n%s\\n" "$1" > "$2" && chmod 755 "$2"', "-", text, _SCRIPT])
        yield
        shell.run(["rm", _SCRIPT])


_SCRIPT = "/run/ina-lab/script"


def _with_script(text: str) -> Callable[[Path], object]:
    return lambda lab: _scripted(lab, text)


@contextmanager
def _full_disk(lab: Path) -> Iterator[None]:
    inventory = load_inventory(lab)
    with open_shell(inventory, inventory.hosts["h2"]) as shell:
        free = int(shell.run(["df", "-P", "-k", "/run/ina-lab"]).text.split()[-3])
        shell.run(["fallocate", "-l", str((free - 512) * 1024), "/run/ina-lab/filler"])
        try:
            yield
        finally:
            shell.run(["rm", "/run/ina-lab/filler"])


def _silent(lab: Path) -> object:
    return halted(lab, "h2")


_PYTHON = (_ADDRESS, f"{_ADDRESS}    command_timeout: 1s\n    python: {_SCRIPT}\n")
_CASES: dict[str, tuple[tuple[tuple[str, str], ...], Callable[[Path], object], str]] = {
    "unreachable": (
        ((_ADDRESS, "    address: 10.98.0.99\n    connect_timeout: 500ms\n"),), _nothing,
        "h2: unreachable: 10.98.0.99 port 22 did not answer within 0.5 s",
    ),
    "hangs after connect": (
        ((_ADDRESS, f"{_ADDRESS}    connect_timeout: 2s\n"),), _silent,
        "h2: did not complete the SSH handshake within 2 s",
    ),
    "hangs in a command": ((_PYTHON,), _with_script("exec sleep 1000"),
        f"h2: `{_SCRIPT} - /run/ina-lab d0` did not end within 1 s"),
    "tells nonsense": ((_PYTHON,), _with_script("echo nonsense"), "h2: does not tell facts about itself"),
    "disk": ((), _full_disk, "h2: its disk is full: 0 MiB free at /run/ina-lab, needed: 64 MiB"),
    "clock": (
        ((_ADDRESS, f"{_ADDRESS}    python: {_SCRIPT}\n"),),
        _with_script(f'INA_CLOCK_OFFSET=5 exec {PYTHON} "$@"'),
        "s ahead of ours; allowed: 1 s",
    ),
    "interface": ((("device: d0, mtu: 9000, switch_port: fpga0/1", "device: d7"),), _nothing,
        "h2: interface data: there is no d7"),
    "no agent for the key": (
        ((_ADDRESS, f"{_ADDRESS}    key: {{env: NO_SUCH_KEY}}\n"),), _nothing,
        "h2: its key is in the environment variable NO_SUCH_KEY, which is not set",
    ),
}  # fmt: skip


def _ran(inventory: Path, folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    (folder / "small.yaml").write_text(_SCENARIO)
    with bounded():
        return main(
            [
                "run",
                str(folder / "small.yaml"),
                "--inventory",
                str(inventory),
                "--out",
                str(folder / "run"),
                "--no-color",
            ]
        )


def _refused(
    ready_lab: Path,
    tmp_path: Path,
    inventory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """What is said at the end; nothing was begun but what had to be."""
    capsys.readouterr()
    assert _ran(inventory, tmp_path, tmp_path / "state", monkeypatch) == 75
    said = capsys.readouterr()
    for step in ("program", "attach", "configure", "prepare", "go"):
        assert f" {step} " not in said.out + said.err
    return next(line for line in said.err.splitlines() if line.startswith("tb: "))


@pytest.mark.parametrize("case", some_at_once(_CASES, late=["unreachable", "hangs after connect"]))
def test_hosts_that_are_not_as_they_should_be(
    ready_lab: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: str,
) -> None:
    changes, broken, problem = _CASES[case]
    inventory = inventory_file(ready_lab, tmp_path, *changes)
    before = _known(ready_lab, tmp_path)
    with broken(ready_lab):  # type: ignore[attr-defined]
        said = _refused(ready_lab, tmp_path, inventory, monkeypatch, capsys)
    assert said.startswith("tb: h2: ")
    assert problem in said
    assert _known(ready_lab, tmp_path) == before
    assert before["h2"] == ((), (), (), ())


@pytest.mark.parametrize("known", ["another", "none"])
def test_a_host_that_shows_another_key_or_one_that_nobody_trusts(
    ready_lab: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    known: str,
) -> None:
    inventory = inventory_file(ready_lab, tmp_path)
    trusted = tmp_path / "known_hosts"
    lines = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in trusted.read_text().splitlines()}
    kept = [f"{name} {key}" for name, key in lines.items() if name != "h2"]
    text = "\n".join([*kept, *([f"h2 {lines['h1']}"] if known == "another" else [])]) + "\n"
    trusted.write_text(text)
    before = _known(ready_lab, tmp_path)
    said = _refused(ready_lab, tmp_path, inventory, monkeypatch, capsys)
    assert said.startswith("tb: h2: its host key is ")
    assert said.endswith("tb lab trust --replace h2" if known == "another" else "tb lab trust h2")
    assert trusted.read_text() == text, "nothing is added by itself"
    assert _known(ready_lab, tmp_path) == before


def test_a_card_that_somebody_else_has(
    ready_lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = load_inventory(ready_lab)
    with using(inventory, tmp_path / "ann") as (ann, _):
        ann.owner.name = "ann@elsewhere"
        HostDriver(ann, inventory.select(["f1"])).lease(seconds=600)
        try:
            before = _known(ready_lab, tmp_path)
            path = inventory_file(ready_lab, tmp_path)
            said = _refused(ready_lab, tmp_path, path, monkeypatch, capsys)
            assert said.startswith("tb: f1: host is leased by ann@elsewhere for another ")
            assert said.endswith("wait, ask, or break it: tb lab release --break")
            assert _known(ready_lab, tmp_path) == before, "ann's stay, and all others are given back"
            assert [lease.owner for lease in before["f1"][0]] == ["ann@elsewhere"] * 2
        finally:
            HostDriver(ann, inventory.select(["f1"])).release()


def test_a_host_with_another_version_of_the_package(
    ready_lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` tells it; `deploy`, which each run does first, puts it right."""
    path = inventory_file(ready_lab, tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    inventory = load_inventory(ready_lab)
    with using(inventory, tmp_path / "state") as (client, _):
        client.shell(inventory.hosts["h2"]).run(["ln", "-sfn", "deploy/0123456789abcdef", "/run/ina-lab/current"])
        with bounded():
            assert main(["lab", "check", "--inventory", str(path)]) == 75
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"tb: h2: it has version 0123456789abcdef of this package, here is {build_package().version}; first: tb "
            "lab deploy"
        )
        with bounded():
            assert main(["lab", "deploy", "h2", "--inventory", str(path)]) == 0
            assert main(["lab", "check", "--inventory", str(path)]) == 0
    assert _known(ready_lab, tmp_path)["h2"] == ((), (), (), ())

"""Steps against an emulated lab: what is wrong with a host is told with its name, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from switch_nodes.fpga.bitstream import reference_bitstream
from testbed.lab.agent.answers import AgentIdentity, CardStatus
from testbed.lab.agent.protocol import PROTOCOL, decode, encode, success
from testbed.lab.agent.requests import DetachGuard, Hello, ListCards
from testbed.lab.client import AgentClient
from testbed.lab.drivers import HostDriver, LabCardDriver, collecting
from testbed.lab.drivers.collecting import collect_files
from testbed.lab.inventory import load_inventory
from testbed.lab.lab import Lab
from testbed.lab.model import Host
from testbed.lab.package import build_package
from testbed.lab.transfer import local_name, receive, send
from tests.support.labs import changed, environment, using
from workloads.errors import LabError

pytestmark = pytest.mark.root
_BITS = reference_bitstream()
_SHA = hashlib.sha256(_BITS).hexdigest()


def _failure(act: Callable[[], Any]) -> LabError:
    with pytest.raises(LabError) as told:
        act()
    assert told.value.exit_code == 75
    return told.value


def test_a_clock_that_is_wrong(small_lab: Path, tmp_path: Path) -> None:
    with using(load_inventory(small_lab), tmp_path) as (lab, seen):
        error = _failure(lambda: HostDriver(lab, lab.inventory.select()).check())
        assert re.fullmatch(r"h3: its clock is (4\.9|5\.0|5\.1) s ahead of ours; allowed: 1 s", str(error))
        assert seen.verdicts("check") == {"h1": "unchanged", "h2": "unchanged", "h3": "failed", "f1": "unchanged"}


def test_an_interface_that_is_missing(small_lab: Path, tmp_path: Path) -> None:
    inventory = changed(small_lab, ("device: d0, mtu: 9000, switch_port: fpga0/1", "device: d7"))
    with using(inventory, tmp_path) as (lab, seen):
        error = _failure(lambda: HostDriver(lab, inventory.select(["h1", "h2"])).check())
        assert str(error) == "h2: interface data: there is no d7"
        assert seen.verdicts("check") == {"h1": "unchanged", "h2": "failed"}


def test_a_host_that_hangs_delays_no_other(small_lab: Path, tmp_path: Path) -> None:
    inventory = changed(small_lab, ("10.98.0.1\n", "10.98.0.99\n"), ("connect_timeout: 20s", "connect_timeout: 3s"))
    with using(inventory, tmp_path) as (lab, seen):
        error = _failure(lambda: HostDriver(lab, inventory.select(["h1", "h2", "f1"])).check())
        assert str(error) == "h1: unreachable: 10.98.0.99 port 22 did not answer within 3 s"
        assert seen.hosts[-1] == "h1"
        assert sorted(seen.hosts) == ["f1", "h1", "h2"]


def test_a_disk_that_is_full(small_lab: Path, tmp_path: Path) -> None:
    with using(load_inventory(small_lab), tmp_path) as (lab, _):
        host = lab.inventory.hosts["h2"]
        shell = lab.shell(host)
        free = int(shell.run(["df", "-P", "-k", host.base]).text.split()[-3])
        shell.run(["fallocate", "-l", str((free - 512) * 1024), f"{host.base}/filler"])
        try:
            for act in (HostDriver(lab, [host]).check, HostDriver(lab, [host]).deploy):
                error = _failure(act)
                assert error.host == "h2"
                assert error.problem.startswith("its disk is full: 0 MiB free at /run/ina-lab, needed: ")
            error = _failure(lambda: send(shell, os.urandom(2 << 20), f"{host.base}/packages/x"))
            assert error.problem.startswith("file transfer: ")
            assert error.problem.endswith("; its disk is full (/run/ina-lab)")
            assert shell.run(["ls", "-A", f"{host.base}/packages"]).text == ""
        finally:
            shell.run(["rm", f"{host.base}/filler"])


def test_an_agent_listens_on_a_socket_of_its_user_and_nowhere_else(deployed_lab: Path, tmp_path: Path) -> None:
    with using(load_inventory(deployed_lab), tmp_path) as (lab, _):
        host = lab.inventory.hosts["h1"]
        HostDriver(lab, [host]).deploy()
        shell, uid = lab.shell(host), int(lab.shell(host).run(["id", "-u"]).text)
        assert shell.run(["stat", "-c", "%a %u %F", host.socket]).text == f"600 {uid} socket\n"
        assert shell.run(["stat", "-c", "%a", host.base]).text == "700\n"
        listening = [
            line.split()
            for line in shell.run(["cat", "/proc/net/tcp", "/proc/net/tcp6"]).text.splitlines()
            if line.split()[3] == "0A"
        ]
        assert {entry[1].split(":")[1] for entry in listening} == {"0016"}, "sshd alone"
        assert shell.run(["cat", "/proc/net/udp"]).text.count("\n") == 1
        pid = lab.agent(host).hello().pid
        status = dict(
            line.split(":", 1) for line in shell.run(["cat", f"/proc/{pid}/status"]).text.splitlines() if ":" in line
        )
        assert set(status["Uid"].split()) == {str(uid)}
        assert int(status["CapEff"], 16) == 1 << 13, "CAP_NET_RAW, for its workers, and no other"


def test_deploying_again_changes_nothing(deployed_lab: Path, tmp_path: Path) -> None:
    with using(load_inventory(deployed_lab), tmp_path) as (lab, seen):
        assert HostDriver(lab, lab.inventory.select(["h1"])).deploy() == {"h1": build_package().version}
        assert seen.steps[0].verdict == "unchanged"
        facts = HostDriver(lab, lab.inventory.select(["h1"])).check()["h1"]
        assert facts.deployed == build_package().version
        hello = HostDriver(lab, lab.inventory.select(["h1"])).status()["h1"]
        assert hello.uid == facts.user != 0


def test_a_host_with_another_version(deployed_lab: Path, tmp_path: Path) -> None:
    with using(load_inventory(deployed_lab), tmp_path) as (lab, _):
        host, version = lab.inventory.hosts["h1"], build_package().version
        lab.shell(host).run(["ln", "-sfn", "deploy/0123456789abcdef", f"{host.base}/current"])
        error = _failure(lambda: HostDriver(lab, [host]).check())
        assert str(error) == (
            f"h1: it has version 0123456789abcdef of this package, here is {version}; first: tb lab deploy"
        )
        assert HostDriver(lab, [host]).deploy() == {"h1": version}
        HostDriver(lab, [host]).check()


def test_a_host_without_an_agent(small_lab: Path, tmp_path: Path) -> None:
    with using(load_inventory(small_lab), tmp_path) as (lab, _):
        error = _failure(lambda: HostDriver(lab, lab.inventory.select(["h3"])).status())
        assert str(error) == "h3: our package is not installed there; first: tb lab deploy"


def test_a_card_that_is_leased_by_another(deployed_lab: Path, tmp_path: Path) -> None:
    inventory = load_inventory(deployed_lab)
    hosts = inventory.select(["h1", "f1"])
    with using(inventory, tmp_path / "ann") as (ann, _), using(inventory, tmp_path / "bob") as (bob, seen):
        bob.owner.name = "bob@elsewhere"
        ann.owner.name = "ann@here"
        HostDriver(ann, [inventory.hosts["f1"]]).lease(seconds=60)
        try:
            error = _failure(lambda: HostDriver(bob, hosts).lease(seconds=60))
            assert error.host == "f1"
            assert error.problem.startswith("host is leased by ann@here for another ")
            assert seen.verdicts("release") == {"h1": "done"}, "all or none"
            error = _failure(lambda: LabCardDriver(bob, "fpga0").program(bitstream=_BITS))
            assert error.problem.startswith("card fpga0 is leased by ann@here for another ")
            leases = HostDriver(bob, [inventory.hosts["f1"]]).status()["f1"].leases
            assert {lease.owner for lease in leases} == {"ann@here"}
            HostDriver(bob, [inventory.hosts["f1"]]).break_leases()
            assert seen.steps[-1].detail == "host was leased by ann@here; card fpga0 was leased by ann@here"
            HostDriver(bob, [inventory.hosts["f1"]]).lease(seconds=60)
            HostDriver(bob, [inventory.hosts["f1"]]).release()
        finally:
            HostDriver(ann, [inventory.hosts["f1"]]).release()


def _program(lab_file: Path, bitstream: Path, state: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-P", "-m", "testbed", "lab", "program", "fpga0", "--bitstream", str(bitstream)]
    return subprocess.Popen(
        [*argv, "--inventory", str(lab_file)],
        env=environment(XDG_STATE_HOME=str(state)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.minutes
def test_a_client_that_is_killed_while_it_programs(deployed_lab: Path, tmp_path: Path) -> None:
    """The card takes some time to load; the client is killed meanwhile, with nothing that it could do about it."""
    bits = reference_bitstream(version="2.0")
    (tmp_path / "card.bit").write_bytes(bits)
    with using(load_inventory(deployed_lab), tmp_path / "ina-testbed") as (lab, seen):
        host = lab.inventory.hosts["f1"]
        HostDriver(lab, [host]).lease(seconds=600)
        try:
            client = _program(deployed_lab, tmp_path / "card.bit", tmp_path)
            _until(lambda: bool(lab.agent(host).ask(ListCards())[0].busy))
            client.send_signal(signal.SIGKILL)
            client.wait()
            # The agent goes on without it; who comes meanwhile is told.
            assert "is busy: programming" in _failure(lambda: LabCardDriver(lab, "fpga0").reset()).problem
            _until(lambda: not lab.agent(host).ask(ListCards())[0].busy)
            LabCardDriver(lab, "fpga0").program(bitstream=bits)
            assert seen.steps[-1].verdict == "unchanged", "the next run finds it done"
            (card,) = lab.agent(host).ask(ListCards())
            assert (card.state, card.bitstream) == ("programmed", hashlib.sha256(bits).hexdigest())
        finally:
            HostDriver(lab, [host]).release()


def _kill_agent(lab: Lab) -> None:
    host = lab.inventory.hosts["f1"]
    pid = lab.agent(host).ask(Hello()).pid
    lab.shell(host).run(["kill", "-9", str(pid)])
    lab.forget_agent(host)


@pytest.mark.minutes
def test_an_agent_that_dies_while_it_programs(deployed_lab: Path, tmp_path: Path) -> None:
    bits = reference_bitstream(version="3.0")
    (tmp_path / "card.bit").write_bytes(bits)
    with using(load_inventory(deployed_lab), tmp_path / "ina-testbed") as (lab, _):
        host = lab.inventory.hosts["f1"]
        HostDriver(lab, [host]).lease(seconds=600)
        try:
            client = _program(deployed_lab, tmp_path / "card.bit", tmp_path)
            _until(lambda: bool(lab.agent(host).ask(ListCards())[0].busy))
            _kill_agent(lab)
            said = client.communicate(timeout=60)[0].decode()
            assert client.returncode == 75, said
            assert "tb: f1: its agent ended during `program`" in said
            assert "no agent runs" in _failure(lambda: HostDriver(lab, [host]).status()).problem
            lab.forget_agent(host)
            HostDriver(lab, [host]).deploy()
            assert lab.agent(host).ask(ListCards())[0].state == "half-programmed"
            error = _failure(lambda: LabCardDriver(lab, "fpga0").start())
            assert error.problem == (
                "card fpga0 is half programmed (its agent died while it was programmed); program it again: tb lab "
                "program"
            )
            LabCardDriver(lab, "fpga0").program(bitstream=bits)
            assert lab.agent(host).ask(ListCards())[0].state == "programmed"
        finally:
            HostDriver(lab, [host]).release()


def test_power_cycling_ends_what_ran_and_keeps_what_was_stored(deployed_lab: Path, tmp_path: Path) -> None:
    with using(load_inventory(deployed_lab), tmp_path) as (lab, seen):
        host = lab.inventory.hosts["h1"]
        HostDriver(lab, [host]).power_cycle()
        assert seen.verdicts("power-cycle") == {"h1": "done"}
        assert "no agent runs" in _failure(lambda: HostDriver(lab, [host]).status()).problem
        lab.forget_agent(host)
        HostDriver(lab, [host]).deploy()
        assert seen.steps[-1].detail == f"{build_package().version}, agent started"


def test_files_of_hosts_lead_nowhere_else(small_lab: Path, tmp_path: Path) -> None:
    for name in ("../x", "a/b", "..", "", None, "-", ".ssh", "/etc/passwd", "a\\0b", "a\nb", "x" * 200, 5):
        assert "allowed: letters" in _failure(lambda name=name: local_name("h1", name)).problem  # type: ignore[misc]
    with using(load_inventory(small_lab), tmp_path / "state") as (lab, _):
        shell = lab.shell(lab.inventory.hosts["h2"])
        shell.run(["sh", "-c", "cd /run/ina-lab && ln -sf /etc/passwd link && head -c 5000 /dev/zero > big"])
        target = tmp_path / "got"
        assert "is no plain file" in _failure(lambda: receive(shell, "/run/ina-lab/link", target)).problem
        assert "more than 4999 bytes" in _failure(lambda: receive(shell, "/run/ina-lab/big", target, most=4999)).problem
        assert (
            "is not what the host said"
            in _failure(lambda: receive(shell, "/run/ina-lab/big", target, sha256="0" * 64)).problem
        )
        assert "within 0.001 s" in _failure(lambda: receive(shell, "/run/ina-lab/big", target, timeout_s=0.001)).problem
        assert not target.exists()
        secret, planted = tmp_path / "secret", tmp_path / "planted"
        secret.write_text("mine")
        planted.symlink_to(secret)
        with pytest.raises(LabError):
            receive(shell, "/run/ina-lab/big", planted)
        assert secret.read_text() == "mine", "a link that lies where a file goes is not followed"
        assert receive(shell, "/run/ina-lab/big", target) == 5000


class _Channel:
    """An agent that answers with this value, whatever it is asked."""

    def __init__(self, told: object) -> None:
        self.host, self.asked = Host("h1", "10.0.0.1"), list[object]()
        self._answer = encode(success(told))

    def client(self) -> AgentClient:
        shell: Any = self
        return AgentClient(shell)

    def channel(self, argv: list[str]) -> _Channel:
        return self

    def settimeout(self, seconds: float) -> None:
        pass

    def sendall(self, line: bytes) -> None:
        self.asked.append(decode(line))

    def recv(self, size: int) -> bytes:
        return self._answer


_ENTRY = {"name": "big", "size": 5, "sha256": "0" * 64}


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ([{**_ENTRY, "name": "../../x"}], "it names a file '../../x'; allowed: letters, digits and . _ - (no folders)"),
        ([{**_ENTRY, "name": "/etc/passwd"}], "it names a file '/etc/passwd'; allowed: "),
        ([{**_ENTRY, "size": 1 << 31}], "run r left more than 1073741824 bytes"),
        ([{**_ENTRY, "size": -1}], "does not tell size and hash of big"),
        (
            [{**_ENTRY, "sha256": None}],
            "does not tell the files of a run: files: 0.sha256 is not text: 'None'; allowed: text",
        ),
        ([{"name": "big"}], "does not tell the files of a run: files: 0.size is missing; 0.sha256 is missing"),
        ([_ENTRY] * 1001, "does not tell the files of a run, or more than 1000 of them"),
        ({"name": "x"}, "does not tell the files of a run"),
        (["x"], "does not tell the files of a run"),
        ([{**_ENTRY, "name": None}], "does not tell the files of a run: files: 0.name is not text: 'None'"),
    ],
)
def test_hosts_that_lie_about_their_files(tmp_path: Path, told: object, problem: str) -> None:
    """Nothing is asked of them any more, and nothing is written."""

    channel = _Channel(told)

    class Reached:
        agent = staticmethod(lambda host: channel.client())

    lab: Any = Reached()
    error = _failure(lambda: collect_files(lab, Host("h1", "10.0.0.1"), "r", tmp_path / "out"))
    assert error.host == "h1"
    assert error.problem.startswith(problem)
    assert channel.asked == [{"op": "files", "run": "r"}]
    assert not list(tmp_path.rglob("*.*"))


def test_what_comes_counts_and_not_what_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that says that its files are empty, and sends more: the sum of all files of a run is bounded."""
    asked = []

    def receive(shell: object, path: str, target: Path, *, sha256: str, most: int, timeout_s: float) -> int:
        asked.append(most)
        return min(most, 200 << 20)

    channel = _Channel([{**_ENTRY, "name": f"f{number}", "size": 0} for number in range(7)])

    class Reached:
        agent = staticmethod(lambda host: channel.client())
        shell = staticmethod(lambda host: None)

    monkeypatch.setattr(collecting, "receive", receive)
    lab: Any = Reached()
    collect_files(lab, Host("h1", "10.0.0.1"), "r", tmp_path / "out")
    assert asked == [256 << 20] * 4 + [224 << 20, 24 << 20, 0]


_SAID = {"protocol": PROTOCOL, "version": "v1"}
_STATE = {**_SAID, "pid": 5, "uid": 7, "clock": 1, "leases": [], "cards": [], "running": [], "attached": []}


def test_an_agent_of_another_version_is_recognised_whatever_else_it_says() -> None:
    assert _Channel(_SAID).client().identity() == AgentIdentity(PROTOCOL, "v1")
    error = _failure(lambda: _Channel(_SAID).client().hello("v2"))
    assert str(error) == "h1: its agent is of version v1, here is v2; first: tb lab deploy"
    for said in ({**_SAID, "protocol": PROTOCOL + 1}, {"version": "v1"}, ["v1"], None):
        error = _failure(lambda said=said: _Channel(said).client().hello())  # type: ignore[misc]
        assert str(error) == "h1: its agent speaks another protocol; first: tb lab deploy"


def test_an_answer_that_is_none_is_told_with_its_place() -> None:
    card = {"card": "fpga0", "state": "unknown", "busy": "", "colour": "red"}
    state = _Channel({**_STATE, "cards": [card]}).client().hello("v1")
    assert state.cards == (CardStatus("fpga0", "unknown", ""),), "what a later version adds is passed over"
    error = _failure(lambda: _Channel({**_STATE, "cards": [{**card, "state": 3}]}).client().hello())
    assert str(error) == "h1: its agent answers what is none: hello: cards.0.state is not text: '3'; allowed: text"
    error = _failure(lambda: _Channel("yes").client().ask(DetachGuard("d0", "t")))
    assert error.problem == (
        "its agent answers what is none: detach: it is not a value of its type: 'yes'; allowed: true, false"
    )


def test_one_command_of_a_user_at_a_time(small_lab: Path, tmp_path: Path) -> None:
    inventory = load_inventory(small_lab)
    with using(inventory, tmp_path) as (one, _), using(inventory, tmp_path) as (other, _):
        with one.owner.alone():
            error = _failure(lambda: other.owner.alone().__enter__())
            assert error.problem == f"another command of yours uses this lab (process {os.getpid()})"
        with other.owner.alone():
            pass


def test_tokens_are_ours_alone(small_lab: Path, tmp_path: Path) -> None:
    inventory = load_inventory(small_lab)
    with using(inventory, tmp_path / "a") as (one, _), using(inventory, tmp_path / "b") as (other, _):
        assert one.owner.token("f1", "host") != other.owner.token("f1", "host")
        assert one.owner.token("f1", "host") != one.owner.token("f1", "card fpga0")
        with using(inventory, tmp_path / "a") as (again, _):
            assert again.owner.token("f1", "host") == one.owner.token("f1", "host")
    assert (tmp_path / "a" / "lab-secret").stat().st_mode & 0o777 == 0o600

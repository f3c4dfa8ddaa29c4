"""Hosts over SSH, against real sshds: who they are, how long we wait, what arrives."""

from __future__ import annotations

import os
import pty
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.lab.emulated.command import ask_keeper
from testbed.lab.emulated.host import UID
from testbed.lab.emulated.messages import CycleHost
from testbed.lab.inventory import load_inventory
from testbed.lab.keys import authentication
from testbed.lab.model import Host, Inventory, KeyReference
from testbed.lab.ssh import host_key_of, open_shell, quote, tail
from testbed.lab.trust import fingerprint, record, trusted
from tests.support.labs import changed, environment, sshds
from workloads.errors import LabError

pytestmark = [pytest.mark.root, pytest.mark.programs]


@contextmanager
def _mute_server() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _refusal(inventory: Inventory, host: Host) -> LabError:
    with pytest.raises(LabError) as told, open_shell(inventory, host):
        pass
    assert told.value.host == host.name
    assert told.value.exit_code == 75
    return told.value


def test_arguments_arrive_as_they_are(small_lab: Path) -> None:
    inventory = load_inventory(small_lab)
    nasty = ["a b", "$(id)", "`id`", "'", '"', ";true", "\n", "*", "-n", "\\", "ä"]
    with open_shell(inventory, inventory.hosts["h1"]) as shell:
        said = shell.run(["printf", r"%s\0", *nasty]).stdout
        assert said.split(b"\0")[:-1] == [word.encode() for word in nasty]
        assert shell.run(["cat"], stdin=bytes(range(256)) * 1000).stdout == bytes(range(256)) * 1000


def test_failures_tell_host_command_and_output(small_lab: Path) -> None:
    inventory = load_inventory(small_lab)
    with open_shell(inventory, inventory.hosts["h1"]) as shell:
        with pytest.raises(LabError) as told:
            shell.run(["sh", "-c", "echo out; echo bad >&2; exit 3"])
        assert str(told.value) == "h1: `sh -c 'echo out; echo bad >&2; exit 3'` ended with exit status 3\nout\nbad"
        with pytest.raises(LabError, match="said more than 1000 bytes"):
            shell.run(["yes"], max_output=1000)
        assert shell.run(["false"], check=False).status == 1


def test_a_command_that_hangs_is_ended_there_too(small_lab: Path) -> None:
    inventory = load_inventory(small_lab)
    with open_shell(inventory, inventory.hosts["h1"]) as shell:
        with pytest.raises(LabError) as told:
            shell.run(["sleep", "71"], timeout_s=0.3)
        assert str(told.value) == "h1: `sleep 71` did not end within 0.3 s"
        assert shell.run(["pgrep", "-f", "^sleep 71"], check=False).stdout == b""


def test_a_wrong_host_key_is_refused(small_lab: Path, tmp_path: Path) -> None:
    inventory = replace(load_inventory(small_lab), known_hosts=tmp_path / "known_hosts")
    keys = small_lab.with_name("known_hosts").read_text().splitlines()
    swapped = {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in keys}
    inventory.known_hosts.write_text(f"h1 {swapped['h2']}\nh2 {swapped['h2']}\n")
    shown, held = trusted(small_lab.with_name("known_hosts"), "h1"), trusted(inventory.known_hosts, "h1")
    error = _refusal(inventory, inventory.hosts["h1"])
    assert error.problem == (
        f"its host key is {shown['ssh-ed25519']}, but {inventory.known_hosts} trusts {held['ssh-ed25519']}: another "
        "machine may answer at its address. If the host was installed again: tb lab trust --replace h1"
    )
    with open_shell(inventory, inventory.hosts["h2"]) as shell:
        assert shell.run(["true"]).status == 0


def test_an_unknown_host_key_is_refused_until_it_is_recorded(small_lab: Path, tmp_path: Path) -> None:
    inventory = replace(load_inventory(small_lab), known_hosts=tmp_path / "known_hosts")
    host = inventory.hosts["h1"]
    error = _refusal(inventory, host)
    assert error.problem == (f"its host key is not in {inventory.known_hosts}; see it and record it: tb lab trust h1")
    assert not inventory.known_hosts.exists(), "nothing is added by itself"
    key = host_key_of(inventory, host)
    assert fingerprint(key) in trusted(small_lab.with_name("known_hosts"), "h1").values()
    assert record(inventory.known_hosts, "h1", key)
    assert not record(inventory.known_hosts, "h1", key)
    with open_shell(inventory, host) as shell:
        assert shell.run(["hostname"]).text == "h1\n"
    with pytest.raises(LabError, match="tb lab trust --replace h1"):
        record(inventory.known_hosts, "h1", host_key_of(inventory, inventory.hosts["h2"]))


def test_trust_shows_and_records(small_lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = small_lab.read_text().replace("known_hosts: known_hosts", f"known_hosts: {tmp_path / 'known'}")
    path = tmp_path / "lab.yaml"
    path.write_text(text.replace("id_ed25519", str(small_lab.with_name("id_ed25519"))))
    (shown,) = trusted(small_lab.with_name("known_hosts"), "h1").values()
    command = ["lab", "trust", "h1", "--inventory", str(path)]
    assert main(command) == 0
    assert capsys.readouterr().out == f"h1         ssh-ed25519 {shown}  not trusted yet\n"
    assert not (tmp_path / "known").exists()
    assert main([*command, "--yes"]) == 0
    assert capsys.readouterr().out == f"h1         ssh-ed25519 {shown}  recorded in {tmp_path / 'known'}\n"
    assert main(command) == 0
    assert capsys.readouterr().out == f"h1         ssh-ed25519 {shown}  trusted\n"
    other = trusted(small_lab.with_name("known_hosts"), "h2")["ssh-ed25519"]
    keys = small_lab.with_name("known_hosts").read_text().splitlines()
    (tmp_path / "known").write_text(
        next(line for line in keys if line.startswith("h2 ")).replace("h2 ", "h1 ", 1) + "\n"
    )
    assert main(command) == 75
    assert f"NOT the trusted {other}" in capsys.readouterr().out
    assert main([*command, "--yes"]) == 75
    assert main([*command, "--yes", "--replace"]) == 0
    assert trusted(tmp_path / "known", "h1") == {"ssh-ed25519": shown}


def test_an_unreachable_host(small_lab: Path) -> None:
    nowhere = changed(small_lab, ("10.98.0.1\n", "10.98.0.99\n"), ("connect_timeout: 20s", "connect_timeout: 300ms"))
    assert _refusal(nowhere, nowhere.hosts["h1"]).problem == (
        "unreachable: 10.98.0.99 port 22 did not answer within 0.3 s"
    )
    closed = changed(small_lab, ("address: 10.98.0.1\n", "address: 10.98.0.1\n    port: 23\n"))
    assert _refusal(closed, closed.hosts["h1"]).problem == "unreachable: 10.98.0.1 port 23: Connection refused"


def test_a_host_that_hangs_after_the_connect(small_lab: Path) -> None:
    inventory = load_inventory(small_lab)
    before = threading.active_count()
    with _mute_server() as port:
        host = replace(
            inventory.hosts["h1"], name="mute", address="127.0.0.1", port=port, namespace=None, connect_timeout_s=0.4
        )
        assert _refusal(inventory, host).problem == "did not complete the SSH handshake within 0.4 s"
        with pytest.raises(LabError, match="did not complete the SSH handshake"):
            host_key_of(inventory, host)
    for thread in threading.enumerate():
        if thread.name.startswith("Thread") and thread is not threading.current_thread():
            thread.join(2.0)
    assert threading.active_count() <= before


def test_a_user_or_key_that_is_refused(small_lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = load_inventory(small_lab)
    host = inventory.hosts["h1"]
    key = small_lab.with_name("id_ed25519")
    assert _refusal(inventory, replace(host, user="root")).problem == (
        f"refuses user root with the key of {key}: Authentication failed."
    )
    with pytest.raises(LabError) as told:
        authentication(replace(host, key=KeyReference(file=key.with_name("none"))))
    assert told.value.problem == f"its key file {key.with_name('none')} is not there"
    monkeypatch.setenv("LAB_KEY", key.read_text())
    with open_shell(inventory, replace(host, key=KeyReference(env="LAB_KEY"))) as shell:
        assert shell.run(["id", "-un"]).text == "lab\n"
    monkeypatch.setenv("LAB_KEY", key.read_text().replace("A", "B"))
    with pytest.raises(LabError) as told:
        authentication(replace(host, key=KeyReference(env="LAB_KEY")))
    assert told.value.problem == "LAB_KEY holds no private key that can be read, or the passphrase is wrong"
    monkeypatch.delenv("LAB_KEY")
    with pytest.raises(LabError, match="LAB_KEY, which is not set"):
        authentication(replace(host, key=KeyReference(env="LAB_KEY")))


def _ssh(*argv: str, **environment: str) -> str:
    done = subprocess.run(
        argv, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    return done.stdout


def test_a_key_that_an_agent_holds(small_lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = changed(small_lab, ("key: {file: id_ed25519}", "key: {agent: true}"))
    host, path = inventory.hosts["h1"], tmp_path / "agent.sock"
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    assert _refusal(inventory, host).problem == (
        "its key is in an SSH agent, but there is none (SSH_AUTH_SOCK is not set)"
    )
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        assert _refusal(inventory, host).problem == "its key is in an SSH agent, but that holds none (ssh-add -l)"
        _ssh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other"))
        _ssh("ssh-add", str(tmp_path / "other"))
        assert _refusal(inventory, host).problem.startswith("refuses user lab with the keys of the SSH agent: ")
        _ssh("ssh-add", str(small_lab.with_name("id_ed25519")))
        with open_shell(inventory, host) as shell:
            assert shell.run(["id", "-un"]).text == "lab\n"
    finally:
        agent.terminate()
        agent.wait(10)


@pytest.mark.parametrize("kind", ["file", "env"])
def test_a_key_with_a_passphrase(small_lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    secret, key = "a horse, a staple", tmp_path / "key"
    key.write_bytes(small_lab.with_name("id_ed25519").read_bytes())
    key.chmod(0o600)
    _ssh("ssh-keygen", "-q", "-p", "-f", str(key), "-P", "", "-N", secret)
    monkeypatch.setenv("LAB_KEY", key.read_text())
    inventory = load_inventory(small_lab)
    where = KeyReference(file=key) if kind == "file" else KeyReference(env="LAB_KEY")
    name = str(key) if kind == "file" else "LAB_KEY"
    host = replace(inventory.hosts["h1"], key=replace(where, passphrase_env="LAB_PASS"))
    monkeypatch.delenv("LAB_PASS", raising=False)
    assert _refusal(inventory, replace(host, key=where)).problem == (
        f"its key {name} has a passphrase; name its variable in key.passphrase_env"
    )
    assert _refusal(inventory, host).problem == "its key is in the environment variable LAB_PASS, which is not set"
    monkeypatch.setenv("LAB_PASS", "a donkey")
    error = _refusal(inventory, host)
    assert error.problem == f"{name} holds no private key that can be read, or the passphrase is wrong"
    assert "donkey" not in f"{error!r} {error.__cause__!r} {error.__context__!r}"
    monkeypatch.setenv("LAB_PASS", secret)
    with open_shell(inventory, host) as shell:
        assert shell.run(["id", "-un"]).text == "lab\n"


def _console(lab: Path, **streams: object) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-P", "-m", "testbed", "lab", "console", "h1", "--inventory", str(lab)]
    return subprocess.Popen(argv, env=environment(), **streams)  # type: ignore[call-overload,no-any-return]


def test_a_console_takes_commands_from_stdin(small_lab: Path) -> None:
    pipe = subprocess.PIPE
    console = _console(small_lab, stdin=pipe, stdout=pipe, stderr=pipe)
    out, err = console.communicate(b"hostname\necho bad >&2\nexit 5\n", timeout=120)
    assert (console.returncode, out, err) == (5, b"h1\nbad\n", b"")


def test_a_console_at_a_terminal(small_lab: Path) -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    console = _console(small_lab, stdin=theirs, stdout=theirs, stderr=theirs)
    said, deadline = b"", time.monotonic() + 120

    def hear(word: bytes) -> None:
        nonlocal said
        while word not in said:
            assert time.monotonic() < deadline, said
            if select.select([ours], [], [], 1.0)[0]:
                said += os.read(ours, 4096)

    try:
        hear(b"$ ")
        os.write(ours, b"test -t 0 && echo user=$(id -un); exit 7\n")
        hear(b"user=lab")
        assert console.wait(120) == 7
        assert termios.tcgetattr(theirs) == before, "ours is as it was"
    finally:
        console.kill()
        console.wait()
        os.close(ours)
        os.close(theirs)


def test_a_console_whose_connection_ends(small_lab: Path) -> None:
    pipe = subprocess.PIPE
    console = _console(small_lab, stdin=pipe, stdout=pipe, stderr=pipe)
    assert console.stdin is not None
    assert console.stdout is not None
    console.stdin.write(b"echo here\n")
    console.stdin.flush()
    assert console.stdout.readline() == b"here\n"
    for pid in sshds(small_lab, "h1", UID):
        os.kill(pid, signal.SIGKILL)
    _, err = console.communicate(timeout=120)
    assert (console.returncode, err.decode()) == (75, "tb: h1: the connection ended\n")


def test_through_a_jump_host(small_lab: Path) -> None:
    inventory = changed(small_lab, ("address: 10.98.0.2\n", "address: 10.98.0.2\n    jump: h1\n    port: 22\n"))
    with open_shell(inventory, inventory.hosts["h2"]) as shell:
        assert shell.run(["hostname"]).text == "h2\n"
    inventory = changed(small_lab, ("address: 10.98.0.2\n", "address: 10.98.0.2\n    jump: h1\n    port: 23\n"))
    assert _refusal(inventory, inventory.hosts["h2"]).problem.startswith("unreachable: 10.98.0.2 port 23 through h1: ")


def test_a_connection_that_drops_during_a_command(small_lab: Path) -> None:
    inventory = load_inventory(small_lab)
    with open_shell(inventory, inventory.hosts["h2"]) as shell:
        cycle = threading.Timer(0.3, ask_keeper, (small_lab.parent, CycleHost("h2")))
        cycle.start()
        with pytest.raises(LabError, match="h2: the connection ended during `sleep 60`"):
            shell.run(["sleep", "60"])
        cycle.join()
    with open_shell(inventory, inventory.hosts["h2"]) as shell:
        assert shell.run(["pgrep", "-x", "sleep"], check=False).stdout == b""


def test_what_hosts_say_cannot_move_a_terminal() -> None:
    assert quote(["a", "b c"]) == "a 'b c'"
    assert tail(b"\x1b[2Jx\r\n", b"y") == "?[2Jx?\ny".replace("?\n", "\n")
    assert tail(b"z" * 5000).startswith("[...]z")

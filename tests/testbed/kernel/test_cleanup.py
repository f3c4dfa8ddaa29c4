import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.kernel.cleanup import clean, find_leftovers
from testbed.kernel.ledger import Ledger, LinkEntry, PathEntry, ProcessEntry
from testbed.kernel.processes import ProcessId, identify, is_alive
from tests.support.emulated import needs_root
from workloads.errors import ScenarioError


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def sleeper() -> Iterator[ProcessId]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    process = identify(child.pid)
    assert process is not None
    yield process
    child.kill()
    child.wait()


def abandon(ledger: Ledger, **owner: object) -> None:
    """As if the owner had been another process, which is dead now."""
    ledger.close()
    path = ledger.folder / "ledger.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    values = json.loads(first) | {"start": 1} | owner
    path.write_text(json.dumps(values) + "\n" + "".join(rest))


def test_a_dead_run_is_removed_and_the_second_time_there_is_nothing(state: Path, tmp_path: Path) -> None:
    ledger = Ledger.create("run-1", tmp_path)
    ledger.note(PathEntry("control.sock", "socket"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(ledger.folder / "control.sock"))
    abandon(ledger)
    assert clean() == (f"socket {state}/run-1/control.sock", f"folder {state}/run-1")
    assert not state.exists()
    assert clean() == ()


def test_a_living_run_is_left_alone(state: Path, tmp_path: Path) -> None:
    ledger = Ledger.create("run-1", tmp_path)
    assert clean() == ()
    with pytest.raises(ScenarioError) as caught:
        clean("run-1")
    assert str(caught.value) == (
        f"cleanup: --run: this run is still going on; found process {os.getpid()}, which owns it; "
        "allowed: a run whose process has ended"
    )
    assert ledger.folder.exists()
    ledger.close()


def test_force_ends_the_owner_but_never_ourselves(state: Path, tmp_path: Path, sleeper: ProcessId) -> None:
    foreign, own = Ledger.create("run-1", tmp_path), Ledger.create("run-2", tmp_path)
    abandon(foreign, pid=sleeper.pid, start=sleeper.start)
    own.close()
    assert clean(force=True) == (
        f"process {sleeper.pid} (owner of run-1)",
        f"folder {state}/run-1",
        f"folder {state}/run-2",
    )
    assert not is_alive(sleeper)


def test_only_the_named_run_is_removed(state: Path, tmp_path: Path) -> None:
    for name in ("run-1", "run-2"):
        abandon(Ledger.create(name, tmp_path))
    assert clean("run-2") == (f"folder {state}/run-2",)
    with pytest.raises(ScenarioError, match="--run: no such run; found 'no-such-run'; allowed: run-1"):
        clean("no-such-run")
    assert (state / "run-1").exists()


def test_a_run_is_also_known_by_the_name_of_its_run_directory(state: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        abandon(Ledger.create(f"20260101-rack-{name}.5eed00", tmp_path / f"20260101-rack-{name}"))
    assert clean("20260101-rack-b") == (f"folder {state}/20260101-rack-b.5eed00",)


@pytest.mark.parametrize("place", ["20260101-rack-c", "runs/20260101-rack-c"])
def test_a_run_that_left_nothing_is_known_by_its_directory(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match="no such run; found '20260101-rack-c'; allowed: nothing: no run left"):
        clean("20260101-rack-c")
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "scenario.yaml").touch()
    assert clean("20260101-rack-c") == ()


def test_a_listed_process_is_ended_and_a_reused_pid_is_not(tmp_path: Path, sleeper: ProcessId) -> None:
    reused = Ledger.create("run-1", tmp_path)
    reused.note(ProcessEntry(sleeper.pid, sleeper.start - 100, "shell h1"))
    abandon(reused)
    assert [line.partition(" ")[0] for line in clean()] == ["folder"]
    assert is_alive(sleeper)
    listed = Ledger.create("run-2", tmp_path)
    listed.note(ProcessEntry(sleeper.pid, sleeper.start, "shell h1"))
    abandon(listed)
    assert clean()[0] == f"process {sleeper.pid} (shell h1)"
    assert not is_alive(sleeper)


def test_processes_of_an_earlier_boot_are_not_touched(tmp_path: Path, sleeper: ProcessId) -> None:
    ledger = Ledger.create("run-1", tmp_path)
    ledger.note(ProcessEntry(sleeper.pid, sleeper.start, "shell h1"))
    abandon(ledger, boot="another")
    assert len(clean()) == 1
    assert is_alive(sleeper)


def test_a_run_in_another_pid_namespace_is_not_called_dead(tmp_path: Path) -> None:
    ledger = Ledger.create("run-1", tmp_path)
    abandon(ledger, pid_namespace=1)
    assert clean() == ()
    assert ledger.folder.exists()


def test_a_run_that_died_while_it_was_made(state: Path) -> None:
    for name in (f".new-{os.getpid()}-1-run-1", ".new-0-1-run-2"):
        (state / name).mkdir(parents=True)
    (state / ".new-0-1-run-2" / "ledger.jsonl").write_text('{"kind":"own')
    alive = identify(os.getpid())
    assert alive is not None
    (state / f".new-{alive.pid}-{alive.start}-run-3").mkdir()
    assert len(clean()) == 2
    assert [path.name for path in state.iterdir()] == [f".new-{alive.pid}-{alive.start}-run-3"]


def test_what_we_did_not_make_in_the_state_folder_stays(state: Path, tmp_path: Path) -> None:
    (state / "of somebody").mkdir(parents=True)
    (state / "of somebody" / "ledger.jsonl").write_text("not ours\n")
    ledger = Ledger.create("run-1", tmp_path)
    for entry in ("../of somebody/file", "kept"):
        ledger.note(PathEntry(entry, "file"))
    (state / "of somebody" / "file").touch()
    (ledger.folder / "kept").symlink_to(state / "of somebody" / "file")
    abandon(ledger)
    clean()
    assert (state / "of somebody" / "file").exists()
    assert (ledger.folder / "kept").is_symlink(), "listed as a file and is none"


def test_leftovers_are_waited_for(sleeper: ProcessId) -> None:
    entries = [ProcessEntry(sleeper.pid, sleeper.start, "node h1"), LinkEntry("no-such", 1)]
    assert find_leftovers(entries, timeout_s=0.1) == (f"process {sleeper.pid} (node h1)",)


class TestForeignProcessInOurNamespace:
    pytestmark = [*needs_root, pytest.mark.programs]

    def test_our_interface_goes_and_the_process_and_its_own_interface_stay(self, tmp_path: Path) -> None:
        links = "; ".join(f"ip link add {name} type veth peer name {name}2" for name in ("ours", "theirs"))
        child = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", f"{links}; echo; exec sleep 60"], stdout=subprocess.PIPE
        )
        try:
            assert child.stdout is not None
            child.stdout.readline()
            inode = os.stat(f"/proc/{child.pid}/ns/net").st_ino
            ledger = Ledger.create("run-1", tmp_path)
            ledger.note(LinkEntry("ours", inode))
            ledger.note(LinkEntry("ours2", inode))
            ledger.note(LinkEntry("lo", os.stat("/proc/self/ns/net").st_ino))
            entries = ledger.entries()
            assert find_leftovers(entries, 0) == ("interface ours", "interface ours2")
            abandon(ledger)
            assert clean()[0] == "interface ours"
            assert find_leftovers(entries, 0) == ()
            left = subprocess.run(
                ["nsenter", f"--net=/proc/{child.pid}/ns/net", "ip", "-o", "link"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            assert "theirs@" in left
            assert "ours@" not in left
            assert child.poll() is None
        finally:
            child.kill()
            child.wait()

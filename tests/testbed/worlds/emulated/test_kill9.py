"""kill -9 of the orchestrator at any moment, then cleanup: nothing of ours is left, and what others made is
untouched."""

import os
import random
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.kernel.cleanup import clean, find_leftovers
from testbed.kernel.ledger import Ledger, known_runs, read_ledger
from testbed.worlds.emulated import EmulatedWorld
from testbed.worlds.emulated import network as network  # here, so that no orchestrator spends its time with it
from tests.support.emulated import MS, builder, make_rack_plan, needs_root, processes_of

pytestmark = needs_root


def sh(command: str) -> str:
    return subprocess.run(["sh", "-ec", command], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def made_by_hand() -> Iterator[str]:
    """A namespace with a bridge and a veth pair in it, and a process that lives there."""
    name = f"byhand-{os.getpid()}"
    sh(f"ip netns add {name}")
    try:
        sh(f"ip -n {name} link add br0 type bridge && ip -n {name} link add v0 type veth peer name v1")
        sh(f"ip -n {name} link set v0 master br0")
        yield name
    finally:
        sh(f"ip netns del {name}")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def fork_orchestrator(run_dir: Path, kill_at_line: int | None = None) -> int:
    """A process that runs a rack until it is killed; with `kill_at_line` it dies right after the ledger's line of that
    number was written, that is before the thing is made."""
    pid = os.fork()
    if pid:
        return pid
    try:
        orchestrator, write = os.getpid(), Ledger._write

        def deadly(self: Ledger, entry: object) -> None:
            write(self, entry)  # type: ignore[arg-type]
            folders = list(known_runs())
            lines = sum(1 for _ in (folders[0] / "ledger.jsonl").open("rb"))
            if lines == kill_at_line:
                os.kill(orchestrator, signal.SIGKILL)
                time.sleep(60)

        if kill_at_line is not None:
            Ledger._write = deadly  # type: ignore[method-assign]
        EmulatedWorld(builder({})).run(make_rack_plan(2, time_limit_ns=60_000 * MS), run_dir, lambda record: None)
    finally:
        os._exit(1)


def check_clean(state: Path, made_by_hand: str, before: str) -> None:
    entries = [entry for folder in known_runs() for entry in read_ledger(folder)[1]]
    clean()
    assert clean() == ()
    assert not state.exists()
    assert find_leftovers(entries) == ()
    assert processes_of(state) == []
    assert sh(f"ip -n {made_by_hand} -o link | cut -d' ' -f2") == before


@pytest.mark.minutes
def test_at_random_moments(state: Path, tmp_path: Path, made_by_hand: str) -> None:
    before = sh(f"ip -n {made_by_hand} -o link | cut -d' ' -f2")
    assert "v0@v1" in before
    moments = random.Random(4791)
    for number in range(10):
        pid = fork_orchestrator(tmp_path / f"run-{number}")
        time.sleep(moments.uniform(0, 0.6))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "it must have been running for this test to say anything"
        check_clean(state, made_by_hand, before)


# The owner; shell and namespace of each node; two names per link; a qdisc per end; the socket; a process per node.
LINES = 1 + 3 * 2 + 2 * 2 + 4 + 1 + 3
TRIED = (1, 2, 3, 7, 8, 9, 11, 12, 15, 16, 17, LINES)
"""the first and the last of each kind"""


def test_right_after_each_kind_of_line_of_the_ledger(state: Path, tmp_path: Path, made_by_hand: str) -> None:
    before = sh(f"ip -n {made_by_hand} -o link | cut -d' ' -f2")
    for line in TRIED:
        pid = fork_orchestrator(tmp_path / f"run-{line}", kill_at_line=line)
        assert select.select([os.pidfd_open(pid)], [], [], 20)[0], f"there is no line {line} any more"
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status)
        check_clean(state, made_by_hand, before)

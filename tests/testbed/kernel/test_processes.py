import os
import signal
import subprocess
import sys
import time

import pytest

from testbed.kernel.processes import ProcessId, descendants, end_processes, identify, is_alive, send_signal


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_identity_holds_the_start_time() -> None:
    own = identify(os.getpid())
    assert own is not None
    assert is_alive(own)
    assert not is_alive(ProcessId(own.pid, own.start - 1))


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["true"])
    process = ProcessId(child.pid, identify(child.pid).start)  # type: ignore[union-attr]
    deadline = time.monotonic() + 5
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert identify(child.pid) == process, "it must still be in the process table for this test to say anything"
    assert not is_alive(process)
    child.wait()
    assert identify(child.pid) is None


def test_a_reused_pid_is_never_signalled() -> None:
    child = sleeper()
    try:
        process = identify(child.pid)
        assert process is not None
        former = ProcessId(process.pid, process.start - 100)
        assert send_signal(former, signal.SIGKILL) is False
        assert end_processes([former]) == []
        assert is_alive(process)
        assert end_processes([process]) == [process]
        assert not is_alive(process)
    finally:
        child.kill()
        child.wait()


def test_end_processes_ends_a_stopped_process() -> None:
    child = sleeper()
    process = identify(child.pid)
    assert process is not None
    os.kill(child.pid, signal.SIGSTOP)
    assert end_processes([process]) == [process]
    child.wait()


def test_child_setup_ends_the_child_with_its_parent() -> None:
    code = (
        "import os, sys, time\n"
        "from testbed.kernel.processes import child_setup\n"
        "parent = os.getpid()\n"
        "read, write = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    child_setup(parent, lambda process: os.write(write, f'{process.pid} {process.start}\\n'.encode()))\n"
        "    time.sleep(60)\n"
        "print(os.read(read, 100).decode(), flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, start = map(int, parent.stdout.readline().split())
    child = ProcessId(pid, start)
    assert is_alive(child)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(child)


def test_child_setup_ends_a_child_whose_parent_is_already_gone() -> None:
    pid = os.fork()
    if pid == 0:
        from testbed.kernel.processes import child_setup

        # As seen by a child whose parent ended before the request: its parent is another one now.
        child_setup(os.getppid() + 1, lambda process: None)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 70


def test_descendants_are_children_and_theirs() -> None:
    words = ["sh", "-c", "sleep 603 & sh -c 'sleep 604; true' & wait"]
    with subprocess.Popen(words, start_new_session=True) as shell:
        try:
            deadline = time.monotonic() + 10
            while len(found := descendants(shell.pid)) < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert len(found) == 3
            assert len(end_processes(found)) == 3
        finally:
            shell.kill()
    assert descendants(shell.pid) == []


_GREEDY = """
import os, time
from testbed.kernel.processes import take_turns_first
take_turns_first(1)
began = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
while time.process_time() < 60 and os.sched_getscheduler(0) != os.SCHED_OTHER:
    pass
print(began == os.SCHED_RR, os.sched_getscheduler(0) == os.SCHED_OTHER)
"""


@pytest.mark.root
def test_a_process_that_never_sleeps_loses_its_real_time_scheduling():
    told = subprocess.run([sys.executable, "-c", _GREEDY], capture_output=True, text=True, check=True, timeout=120)
    if not told.stdout.startswith("True"):
        pytest.skip("this machine allows no real-time scheduling")
    assert told.stdout == "True True\n"

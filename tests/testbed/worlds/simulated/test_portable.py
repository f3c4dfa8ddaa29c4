"""The simulated world needs no root, no network, no compiler and nothing that only Linux has.

The process below has none of it: modules of Unix and of the emulated world cannot be imported, calls of Linux are gone,
no library of ours can be loaded, and nobody runs another program or opens a socket."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
ELSEWHERE = """
import ctypes, importlib.abc, os, runpy, signal, socket, subprocess, sys

import numpy, pydantic, rich.console, rich.progress, yaml  # theirs know on which system they are

BLOCKED = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "mininet", "pyroute2", "readline"}

class Elsewhere(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in [name for name in sys.modules if name.split(".")[0] in BLOCKED]:
    del sys.modules[name]
sys.meta_path.insert(0, Elsewhere())
for name in ("fork", "geteuid", "getuid", "setns", "unshare", "uname", "sched_getaffinity", "memfd_create", "pidfd_open",
             "killpg", "getpgid", "setsid", "waitid", "posix_spawn", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("AF_PACKET", "AF_NETLINK", "AF_UNIX", "SOCK_NONBLOCK", "SOCK_CLOEXEC"):
    if hasattr(socket, name):
        delattr(socket, name)
for name in ("SIGHUP", "SIGSTOP", "SIGCONT", "SIGKILL", "SIGALRM", "SIGCHLD"):
    delattr(signal, name)

def refuse(what):
    def refused(*arguments, **options):
        raise OSError(f"{what} is refused here")
    return refused

class NoLibrary(ctypes.CDLL):
    def __init__(self, *arguments, **options):
        raise OSError(f"no library here: {arguments}")

ctypes.CDLL = NoLibrary
socket.socket.__init__ = refuse("a socket")
subprocess.Popen.__init__ = refuse("another program")
os.symlink = refuse("a symbolic link")
sys.argv = ["testbed", *sys.argv[1:]]
runpy.run_module("testbed", run_name="__main__", alter_sys=True)
"""  # noqa: E501


def elsewhere(folder, *arguments):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("INA_")}
    return subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *arguments],
        cwd=folder, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def run_elsewhere(tmp_path, name, *more):
    """The document and the history file of a run in a folder of its own."""
    done = elsewhere(tmp_path, "run", name, "--world", "simulated", "--json", *more)
    assert done.returncode == 0, done.stderr
    (run_dir,) = (tmp_path / "runs").iterdir()
    return json.loads(done.stdout), (run_dir / "history.jsonl").read_bytes()


def test_it_runs_where_there_is_nothing_but_python(tmp_path):
    small = ("--set", "job.size=40kB", "--set", "faults.loss.rate=8%", "--set", "capture=true")
    document, history = run_elsewhere(tmp_path, "rack-lossy", *small)
    assert document["verdict"] == "pass"
    assert document["faults"][0]["strikes"] > 0
    here = [
        sys.executable,
        "-m",
        "testbed",
        "run",
        "rack-lossy",
        "--world",
        "simulated",
        "--out",
        str(tmp_path / "here"),
    ]
    subprocess.run([*here, *small], cwd=ROOT, capture_output=True, check=True, timeout=120)
    assert (tmp_path / "here" / "history.jsonl").read_bytes() == history


def test_what_is_refused_there_is_really_refused(tmp_path):
    """Else the test above would show nothing: the emulated world says what it lacks, and does not crash."""
    done = elsewhere(tmp_path, "run", "rack", "--world", "emulated")
    assert done.returncode == 3
    assert "root: network namespaces and packet sockets need it" in done.stderr

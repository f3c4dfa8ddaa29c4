"""Runs killed with SIGKILL at random moments, each followed by `tb cleanup`: `python -m benchmarks.kill_runs --runs
50`.

What is left is judged against the machine's state before, not against our own ledger: network namespaces, links,
qdiscs, processes, unix sockets, and files in the places where a run may write. A namespace, a bridge and a veth pair
made by hand beforehand must survive untouched. Exits 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HAND_MADE = ("byhand-ns", "byhand-br", "byhand-v0", "byhand-v1")
WATCHED_FOLDERS = ("/run", "/run/netns", "/run/ina-testbed", "/tmp", "/dev/shm")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class State:
    """What a run could leave behind."""

    namespaces: frozenset[str]
    links: frozenset[str]
    qdiscs: frozenset[str]
    processes: frozenset[str]
    sockets: frozenset[str]
    files: frozenset[str]

    @classmethod
    def now(cls) -> State:
        namespaces, processes = set(), set()
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    namespaces.add(os.readlink(folder / "ns" / "net"))
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if command and int(folder.name) != os.getpid():
                    processes.add(f"{folder.name} {command.strip()[:120]}")
        namespaces.update(item["name"] for item in json.loads(output("ip", "-j", "netns", "list") or "[]"))
        links = {f"{item['ifname']} {item['address']}" for item in json.loads(output("ip", "-j", "link"))}
        qdiscs = set(output("tc", "qdisc", "show").splitlines())
        sockets = {line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if "/" in line}
        files = {str(path) for folder in WATCHED_FOLDERS if Path(folder).is_dir() for path in Path(folder).iterdir()}
        return cls(*map(frozenset, (namespaces, links, qdiscs, processes, sockets, files)))

    def added_since(self, before: State) -> list[str]:
        return sorted(
            f"{kind}: {item}"
            for kind in self.__dataclass_fields__
            for item in getattr(self, kind) - getattr(before, kind)
        )

    def missing_since(self, before: State) -> list[str]:
        return sorted(
            f"{kind}: {item}"
            for kind in ("namespaces", "links", "qdiscs")
            for item in getattr(before, kind) - getattr(self, kind)
        )


def make_by_hand() -> None:
    namespace, bridge, one, two = HAND_MADE
    for command in (
        f"ip netns add {namespace}",
        f"ip link add {bridge} type bridge",
        f"ip link add {one} type veth peer name {two}",
        f"ip link set {two} netns {namespace}",
        f"ip link set {one} master {bridge}",
        f"ip link set {one} up",
    ):
        subprocess.run(command.split(), check=True)


def remove_by_hand() -> None:
    namespace, bridge, one, _ = HAND_MADE
    for command in (f"ip link del {one}", f"ip link del {bridge}", f"ip netns del {namespace}"):
        subprocess.run(command.split(), check=False)


def settled(before: State, seconds: float = 3.0) -> list[str]:
    """What is new since `before`, after giving the kernel a moment: it frees namespaces late."""
    deadline = time.monotonic() + seconds
    while (added := State.now().added_since(before)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return added


def kill_once(scenario: str, after_s: float, folder: Path) -> None:
    command = [sys.executable, "-m", "testbed", "run", scenario, "--out", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--scenario", default="rack-lossy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=3.5, help="latest kill, seconds after the start")
    options = parser.parse_args()
    draw, failures = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory(prefix="ina-kill-") as folder:
        make_by_hand()
        try:
            before = State.now()
            for number in range(options.runs):
                after_s = draw.uniform(0.05, options.longest)
                kill_once(options.scenario, after_s, Path(folder) / str(number))
                cleanup = subprocess.run(
                    [sys.executable, "-m", "testbed", "cleanup"], cwd=ROOT, capture_output=True, text=True
                )
                left = settled(before)
                gone = State.now().missing_since(before)
                bad = bool(left or gone or cleanup.returncode)
                failures += bad
                removed = len(cleanup.stdout.splitlines())
                print(
                    f"run {number:2}: killed after {after_s:.2f} s; cleanup printed {removed} lines; left {left}; lost "
                    f"{gone}"
                )
                if cleanup.returncode:
                    print(f"    cleanup exited {cleanup.returncode}: {cleanup.stderr[-400:]}")
        finally:
            remove_by_hand()
    print(f"{options.runs} runs killed, {failures} left something behind or touched what is not ours")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

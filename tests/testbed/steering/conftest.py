from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.kernel.cleanup import find_leftovers, remove_run
from testbed.kernel.ledger import Ledger
from testbed.kernel.namespaces import inside
from testbed.kernel.offloads import turn_offloads_off
from testbed.steering.openvswitch import OpenVSwitch, missing_programs
from tests.support.namespace import Namespace, own_namespace
from topologies import format_ip, format_mac, host_ip, host_mac

ROOT = Path(__file__).resolve().parents[3]
PORT = 6653


class Driver:
    """tests/support/steering_driver.py as a process in the calling thread's namespace."""

    def __init__(self, python: Path | str = sys.executable, fabric: str = "accelerator") -> None:
        self._process = subprocess.Popen(
            [str(python), str(ROOT / "tests" / "support" / "steering_driver.py"), str(PORT), fabric],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.heard: list[dict[str, Any]] = []
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def wait_for(self, event: str, timeout_s: float = 30, **values: object) -> dict[str, Any]:
        """The next one that was not heard yet with these values."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                record = json.loads(self._lines.get(timeout=0.1))
            except queue.Empty:
                if self._process.poll() is not None:
                    assert self._process.stderr is not None
                    raise AssertionError(self._process.stderr.read()[-2000:]) from None
                continue
            self.heard.append(record)
            if record["event"] == event and values.items() <= record.items():
                return record
        raise AssertionError(f"no {event} {values}; heard {self.heard}")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Rig:
    """s1 as Open vSwitch: ports s0..s3 here, their other ends q0, q1 in namespaces of hosts h1 and h2, q2 and q3 (the
    accelerator's) here."""

    def __init__(self, namespace: Namespace, hosts: list[int], folder: Path) -> None:
        self.namespace, self.hosts, self.folder = namespace, hosts, folder

    def socket(self, host: int, kind: socket.SocketKind, dscp: int = 0) -> socket.socket:
        """Of host 1 or 2."""
        with inside(self.hosts[host - 1]):
            made = socket.socket(socket.AF_INET, kind)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
        made.settimeout(3)
        return made

    def sniff(self, interface: str) -> socket.socket:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        tap.bind((interface, 3))
        tap.settimeout(3)
        return tap


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if missing_programs():
        pytest.skip(f"Open vSwitch is not installed: {', '.join(missing_programs())}")
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    sleepers: list[subprocess.Popen[bytes]] = []
    with own_namespace() as namespace:
        try:
            namespace.route.link("set", index=namespace.index("lo"), state="up")
            for port in range(4):
                namespace.veth(f"s{port}", f"q{port}")
            for number in (1, 2):
                sleepers.append(_add_host(namespace, number))
            ledger = Ledger.create("rig", tmp_path)
            switch = OpenVSwitch(
                "s1", 1, [(f"s{port}", 1500, 100) for port in range(4)], os.getpid(), ledger, tmp_path / "s1.log"
            )
            try:
                switch.start(f"tcp:127.0.0.1:{PORT}")
                yield Rig(namespace, [sleeper.pid for sleeper in sleepers], ledger.folder)
            finally:
                switch.stop()
                left = find_leftovers(ledger.entries())
                ledger.close()
                remove_run(ledger.folder, ledger.owner, ledger.entries())
            assert left == ()
            assert not (tmp_path / "state").exists()
        finally:
            for sleeper in sleepers:
                sleeper.kill()
                sleeper.wait()


def _add_host(namespace: Namespace, number: int) -> subprocess.Popen[bytes]:
    sleeper = subprocess.Popen(["unshare", "-n", "sleep", "120"])
    deadline = time.monotonic() + 5
    while os.stat(f"/proc/{sleeper.pid}/ns/net").st_ino == os.stat("/proc/thread-self/ns/net").st_ino:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    name, peer = f"q{number - 1}", 3 - number
    namespace.route.link("set", index=namespace.index(name), net_ns_pid=sleeper.pid)
    commands = [
        f"ip link set {name} address {format_mac(host_mac(number))} up",
        f"ip addr add {format_ip(host_ip(number))}/16 dev {name}",
        f"ip neigh add {format_ip(host_ip(peer))} lladdr {format_mac(host_mac(peer))} dev {name} nud permanent",
    ]
    for command in commands:
        subprocess.run(["nsenter", "-t", str(sleeper.pid), "-n", *command.split()], check=True)
    with inside(sleeper.pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        turn_offloads_off(sock, name)
    return sleeper

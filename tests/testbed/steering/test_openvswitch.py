from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from testbed.steering import openvswitch
from tests.support.steering_driver import DSCP
from tests.testbed.steering.conftest import Driver, Rig
from topologies import format_ip, format_mac, host_ip, host_mac
from workloads.wire.envelope import ROCE_PORT

pytest.importorskip("os_ken")
pytestmark = [pytest.mark.root, pytest.mark.programs]
ONE, TWO = format_ip(host_ip(1)), format_ip(host_ip(2))


def frames_with(tap: socket.socket, payload: bytes) -> int:
    """How many of those that came up to now."""
    tap.setblocking(False)
    found = 0
    while True:
        try:
            found += payload in tap.recv(2048)
        except BlockingIOError:
            return found


def send(rig: Rig, dscp: int, port: int, payload: bytes) -> None:
    """From h1 to h2."""
    with rig.socket(1, socket.SOCK_DGRAM, dscp) as sender:
        sender.sendto(payload, (TWO, port))


def arrives(rig: Rig, dscp: int, port: int, payload: bytes) -> bool:
    """Whether what h1 sends reaches h2."""
    with rig.socket(2, socket.SOCK_DGRAM) as receiver:
        receiver.bind((TWO, port))
        receiver.settimeout(0.5)
        send(rig, dscp, port, payload)
        try:
            return receiver.recv(2048) == payload
        except TimeoutError:
            return False


def test_steering_fallback_and_a_new_controller(rig: Rig) -> None:
    """One bridge for all, as bringing one up takes a second."""
    driver = Driver()
    try:
        assert driver.wait_for("RulesInstalled", reason="connected")["added"] == 9
        data, back = rig.sniff("q2"), rig.sniff("q3")
        # exactly the job's data: UDP port, DSCP and addresses of the edge
        send(rig, DSCP, ROCE_PORT, b"the job's data")
        assert b"the job's data" in data.recv(2048)
        assert arrives(rig, 0, ROCE_PORT, b"an acknowledgement")
        assert arrives(rig, DSCP, 5000, b"another port")
        assert arrives(rig, 48, ROCE_PORT, b"a CNP")
        assert not arrives(rig, DSCP, ROCE_PORT, b"more data")
        assert frames_with(data, b"an acknowledgement") == frames_with(back, b"the job's data") == 0
        # what the accelerator sends reaches the host
        with rig.socket(2, socket.SOCK_DGRAM) as receiver:
            receiver.bind((TWO, ROCE_PORT))
            back.send(datagram(b"back"))
            assert receiver.recv(2048) == b"back"
        assert_tcp_is_whole(rig)
        ping = ["nsenter", "-t", str(rig.hosts[0]), "-n", "ping", "-q", "-c", "3", "-i", "0.05", "-w", "3", TWO]
        assert "3 received" in subprocess.run(ping, capture_output=True, text=True, check=False).stdout
        reading = driver.wait_for("reading")
        # a dead accelerator port: data is dropped, everything else goes on
        rig.namespace.link_state("q2", "down")
        told = driver.wait_for("RulesInstalled", reason="port 2 of s1 is down")
        assert told["fallback"]
        assert (told["down"], told["kept"], told["added"]) == ([2], 7, 2)
        assert not arrives(rig, DSCP, ROCE_PORT, b"withheld")
        assert arrives(rig, 0, ROCE_PORT, b"plain")
        assert frames_with(back, b"withheld") == 0
        driver.kill()
        # no controller: the rules stay
        assert arrives(rig, 0, ROCE_PORT, b"on its own")
        driver = Driver()
        again = driver.wait_for("RulesInstalled", reason="connected")
        assert (again["kept"], again["added"], again["removed"], again["fallback"]) == (9, 0, 0, True)
        rig.namespace.link_state("q2", "up")
        healed = driver.wait_for("RulesInstalled", reason="port 2 of s1 is up")
        assert not healed["fallback"]
        with rig.sniff("q2") as fresh:
            send(rig, DSCP, ROCE_PORT, b"steered again")
            assert b"steered again" in fresh.recv(2048)
        assert {row["name"] for row in reading["rows"]} >= {"steer-h1-h2", "host-h1", "isolate-2", "flood-0"}
    finally:
        driver.kill()


def datagram(payload: bytes) -> bytes:
    """From h1 to h2, as the accelerator sends it: data of the job, without a UDP checksum."""
    udp = struct.pack("!HHHH", 0xC000, ROCE_PORT, 8 + len(payload), 0) + payload
    header = struct.pack("!BBHHHBBH", 0x45, DSCP << 2, 20 + len(udp), 0, 0, 64, 17, 0) + host_ip(1) + host_ip(2)
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + struct.pack("!H", ~total & 0xFFFF) + header[12:]
    return host_mac(2) + host_mac(1) + b"\x08\x00" + header + udp


def assert_tcp_is_whole(rig: Rig) -> None:
    content = bytes(range(256)) * 2_000
    with rig.socket(2, socket.SOCK_STREAM) as listener:
        listener.bind((TWO, 4791))
        listener.listen(1)
        received = bytearray()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                while data := connection.recv(65_536):
                    received.extend(data)

        server = threading.Thread(target=serve)
        server.start()
        with rig.socket(1, socket.SOCK_STREAM, DSCP) as client:
            client.connect((TWO, 4791))
            client.sendall(content)
        server.join(10)
    assert bytes(received) == content


def test_flows_spread_over_equal_ports_and_move_when_one_dies(rig: Rig) -> None:
    driver = Driver(fabric="leaf")
    try:
        driver.wait_for("RulesInstalled", reason="connected")
        neighbour = f"ip neigh add {format_ip(host_ip(3))} lladdr {format_mac(host_mac(3))} dev q0 nud permanent"
        subprocess.run(["nsenter", "-t", str(rig.hosts[0]), "-n", *neighbour.split()], check=True)
        first, second = send_flows(rig, 64)
        assert (first | second, first & second) == (set(range(64)), set())
        # Each flow is a coin: fewer than 12 of 64 on one side has a chance of less than one in a million.
        assert min(len(first), len(second)) >= 12
        assert send_flows(rig, 64) == (first, second)
        rig.namespace.link_state("q2", "down")
        driver.wait_for("RulesInstalled", reason="port 2 of leaf1 is down")
        assert send_flows(rig, 16)[1] == set(range(16))
    finally:
        driver.kill()


def send_flows(rig: Rig, count: int) -> tuple[set[int], set[int]]:
    """One datagram each of `count` flows from h1 to h3; which came to q2, and which to q3."""
    with rig.sniff("q2") as one, rig.sniff("q3") as two:
        for number in range(count):
            with rig.socket(1, socket.SOCK_DGRAM) as sender:
                sender.bind((ONE, 20_000 + number))
                sender.sendto(b"flow %03d" % number, (format_ip(host_ip(3)), 9))
        time.sleep(0.3)
        return flows_of(one), flows_of(two)


def flows_of(tap: socket.socket) -> set[int]:
    tap.setblocking(False)
    found = set()
    while True:
        try:
            _, marked, number = tap.recv(2048).partition(b"flow ")
        except OSError as error:
            if error.errno == errno.ENETDOWN:
                continue
            return found
        if marked:
            found.add(int(number[:3]))


def test_a_database_is_waited_for_until_it_takes_connections(tmp_path: Path) -> None:
    name = tmp_path / "db.sock"
    assert not openvswitch._listens(name)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(name))
        assert name.exists()
        assert not openvswitch._listens(name)
        server.listen()
        assert openvswitch._listens(name)


def test_a_command_that_waits_dies_with_us(tmp_path: Path) -> None:
    """ovs-vsctl waits for a daemon that may be gone."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from testbed.kernel.ledger import Ledger\n"
        "from testbed.steering.openvswitch import OpenVSwitch\n"
        "ledger = Ledger.create('run-of-a-test', Path(sys.argv[1]))\n"
        "switch = OpenVSwitch('s1', 1, (), os.getpid(), ledger, Path(sys.argv[1]) / 's1.log')\n"
        "switch._command('sleep', '30')\n"
    )
    environment = {**os.environ, "INA_STATE_DIR": str(tmp_path / "state")}
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment) as run:
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
        deadline = time.monotonic() + 20
        while (
            not (mine := children.read_text().split()) or b"sleep" not in Path(f"/proc/{mine[0]}/cmdline").read_bytes()
        ):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        run.kill()
    end = time.monotonic() + 5
    while Path(f"/proc/{mine[0]}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{mine[0]}").exists()

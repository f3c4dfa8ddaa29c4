"""A guest from its start to its end, with a small program in QEMU's place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testbed.interop import boot, guestvm
from testbed.interop.boot import boot_guest
from testbed.interop.image.prepare import Image
from testbed.interop.protocol import CaseResult
from testbed.kernel.processes import identify, is_alive
from workloads.errors import HostCapabilityError, InternalError

IMAGE = Image(Path("/k/vmlinux"), Path("/k/initrd"), Path("/k/etc"), {})
GUEST = """
import json, pathlib, socket, sys, time
out, devices, act, *ends = sys.argv[1:]
out = pathlib.Path(out)
(out / "setup.log").write_text("modprobe: no rdma_rxe\\n")
if act == "die":
    (out / "status").write_text("3\\n")
    sys.exit("no kernel")
if not all(pathlib.Path(end).with_suffix(".sw").exists() for end in ends):
    sys.exit("nobody to send to")
sockets = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in ends]
for one, end in zip(sockets, ends):
    one.bind(end)
    if act == "close":
        one.close()
facts = [{"device": f"rxe{n}", "interface": "", "mac": "", "ip": "", "gid_index": 1} for n in range(int(devices))]
(out / "guest.new").write_text(json.dumps({"devices": facts, "versions": {"kernel": "6.1"}}))
(out / "guest.new").rename(out / "guest.json")
while not (out / "stop.json").exists() and act != "leave":
    time.sleep(0.005)
if act == "leave":
    time.sleep(0.5)
(out / "status").write_text("0" if act != "end badly" else "70")
"""


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Boot with a guest that does `act` and says that it has so many devices."""
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(boot, "stage_code", lambda top, target: target.mkdir())

    def start(act="serve", found=2):
        def command(*, wires, shares, script, **more):
            assert script == "testbed/interop/guest/setup.sh"
            out = next(share.path for share in shares if share.writable)
            return [sys.executable, "-c", GUEST, str(out), str(found), act, *(str(wire.guest_end) for wire in wires)]

        monkeypatch.setattr(boot, "qemu_command", command)
        return boot_guest(IMAGE, 2, tmp_path / "interop-run", "interop-run-1")

    return start


def left_over(tmp_path):
    return [path for path in (tmp_path / "state").rglob("*") if not path.is_dir()]


def test_a_guest_serves_and_leaves_nothing(start, tmp_path):
    with start() as guest:
        assert [device.device for device in guest.facts.devices] == ["rxe0", "rxe1"]
        assert guest.machine.running
        assert len(guest.wires.ports) == 2
        assert left_over(tmp_path)
        process = identify(guest.machine.pid)
    assert not is_alive(process)
    assert guest.machine.status == 0
    assert left_over(tmp_path) == []


def test_an_error_among_the_cases_ends_the_guest_too(start, tmp_path):
    processes = []

    def serve(guest):
        processes.append(identify(guest.machine.pid))
        raise RuntimeError("a case")

    with pytest.raises(RuntimeError, match="a case"), start() as guest:
        serve(guest)
    assert not is_alive(processes[0])
    assert left_over(tmp_path) == []


def test_a_guest_that_dies_shows_the_ends_of_its_logs(start, tmp_path):
    with pytest.raises(InternalError) as caught, start("die"):
        pass
    text = str(caught.value)
    assert "the guest ended before QEMU's wires" in text
    assert "script status 3" in text
    assert "qemu.log: no kernel" in text
    assert "setup.log: modprobe: no rdma_rxe" in text
    assert left_over(tmp_path) == []


def test_wires_that_nobody_holds_are_told(start, tmp_path):
    with pytest.raises(InternalError, match=r"QEMU left its wires .*refused"), start("close"):
        pass
    assert left_over(tmp_path) == []


def test_a_guest_with_other_devices_is_no_guest_for_us(start):
    with pytest.raises(InternalError, match="the guest has 1 devices, not 2"), start(found=1):
        pass


def test_a_guest_that_ends_badly_is_told(start):
    with pytest.raises(InternalError, match="the guest did not end well"), start("end badly"):
        pass


def test_waiting_ends_when_the_guest_does(start):
    with pytest.raises(InternalError, match="the guest ended before case x to open"), start("leave") as guest:
        guest.machine.wait_for(lambda: guest.mailbox.take(1, "opened", CaseResult) is not None, 60, "case x to open")


def test_waiting_has_a_limit(start):
    with pytest.raises(InternalError, match=r"no sign of the moon within 0\.05 s"), start() as guest:
        guest.machine.wait_for(lambda: False, 0.05, "the moon")


def test_without_qemu_it_is_the_host_that_lacks_something(start, monkeypatch, tmp_path):
    context = start()
    monkeypatch.setattr(boot, "qemu_command", lambda **more: ["/nowhere/qemu"])
    with pytest.raises(HostCapabilityError, match="QEMU for x86") as caught, context:
        pass
    assert "apt-get install qemu-system-x86" in str(caught.value)
    assert left_over(tmp_path) == []


def test_a_guest_that_does_not_power_off_is_ended(start, monkeypatch):
    monkeypatch.setattr(guestvm, "_END_S", 0.05)
    with start() as guest:
        assert guest.machine.end(0.05) is None
        assert not guest.machine.running
        (guest.mailbox.folder / "status").write_text("0")

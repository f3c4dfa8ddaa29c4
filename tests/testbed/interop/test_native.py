"""The guest's programme as a process of this host, on a network that has everything but rxe devices."""

from __future__ import annotations

import contextlib
import json
import os
from functools import partial

import pytest

from testbed.interop import native
from testbed.interop.native import boot_native, runner_command
from testbed.interop.nativenet import NativeNetwork, device_sysctls, refuse_taken, rp_filter_off
from testbed.kernel.namespaces import namespace_inode
from testbed.kernel.processes import identify, is_alive
from topologies import host_ip, host_mac
from workloads.errors import HostCapabilityError

RUNNER = """
import json, os, pathlib, subprocess, sys, time
out = pathlib.Path(sys.argv[1])
def read(name, what): return open(f"/proc/sys/net/ipv4/conf/{name}/{what}").read().strip()
names = sorted(name for name in subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout.split()
               if name.startswith("tbr"))
names = [name.partition("@")[0] for name in names]
devices = [{"device": f"rxe{n}", "interface": name, "mac": "", "ip": "", "gid_index": 1}
           for n, name in reversed(list(enumerate(names)))]
facts = {"inode": os.stat("/proc/self/ns/net").st_ino, "accept_local": read(names[0], "accept_local"),
         "rp_filter": read("all", "rp_filter")}
devices.append({"device": "mlx5_0", "interface": "eth7", "mac": "", "ip": "", "gid_index": 3})
if len(sys.argv) > 2: devices = devices[1:]
(out / "facts").write_text(json.dumps(facts))
(out / "guest.new").write_text(json.dumps({"devices": devices, "versions": {"kernel": "6.9"}}))
(out / "guest.new").rename(out / "guest.json")
while not (out / "stop.json").exists(): time.sleep(0.005)
(out / "status").write_text("0")
"""


@pytest.fixture
def start(monkeypatch, tmp_path):
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(native, "stage_code", lambda top, target: target.mkdir())
    added = []

    def start(*more, devices=2, initial=False):
        def command(code, out, *, initial):
            return ["python3", "-c", RUNNER, str(out), *more]

        monkeypatch.setattr(native, "runner_command", command)
        build = partial(NativeNetwork.build, add=lambda *words: added.append(words))
        return boot_native(
            devices,
            tmp_path / "run" / "guest-1",
            "run-1",
            initial=initial,
            build=build,
            rxe=lambda: True,
            load=lambda: None,
        )

    start.added = added
    return start


root = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@pytest.mark.parametrize("case", [pytest.param(None, marks=root)])
def test_the_runner_lives_with_its_devices_and_frames_reach_our_ports(start, tmp_path, case):
    home = namespace_inode()
    with start() as guest:
        facts = json.loads((tmp_path / "run/guest-1/guest/facts").read_text())
        assert facts["inode"] != home
        assert (facts["accept_local"], facts["rp_filter"]) == ("1", "0")
        assert [device.device for device in guest.facts.devices] == ["rxe0", "rxe1"]
        assert [name for name, _ in start.added] == ["rxe0", "rxe1"]
        assert [device.interface for device in guest.facts.devices] == [interface for _, interface in start.added]
        assert namespace_inode() == home
        first, second = (port.socket for port in guest.wires.ports)
        guest.wires.drain()
        # What our switch sends out at a port arrives at the device's interface; the kernel answers ARP from there.
        asking = host_mac(9)
        request = b"\xff" * 6 + asking + bytes.fromhex("08060001080006040001") + asking + host_ip(9)
        first.send(request + bytes(6) + host_ip(1))
        first.setblocking(True)
        first.settimeout(5)
        answer = first.recv(1 << 16)
        while answer[12:14] != b"\x08\x06" or answer[20:22] != b"\x00\x02":
            answer = first.recv(1 << 16)
        assert (answer[22:28], answer[28:32]) == (host_mac(1), host_ip(1))
        # Only the owner of an address answers for it.
        second.send(request + bytes(6) + host_ip(1))
        second.settimeout(0.3)
        arrived = []
        with contextlib.suppress(TimeoutError):
            while True:
                arrived.append(second.recv(1 << 16)[12:14])
        assert b"\x08\x06" not in arrived
        process = identify(guest.machine.pid)
    assert not is_alive(process)
    assert not list((tmp_path / "state").rglob("*.jsonl"))


@pytest.mark.parametrize("case", [pytest.param(None, marks=root)])
def test_a_device_that_does_not_show_is_told(start, case):
    with pytest.raises(HostCapabilityError, match=r"an RDMA device on tbr1\.\w+ with an IPv4 address"), start("hide"):
        pass


def test_a_kernel_without_rxe_or_a_user_without_rights_is_told_first(tmp_path, monkeypatch):
    with (
        pytest.raises(HostCapabilityError, match=r"rdma_rxe in this host's kernel .*--where qemu"),
        boot_native(2, tmp_path / "a", "run-1", initial=False, rxe=lambda: False),
    ):
        pass
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with (
        pytest.raises(HostCapabilityError, match="the right to make interfaces and RDMA devices"),
        boot_native(2, tmp_path / "a", "run-1", initial=False, rxe=lambda: True),
    ):
        pass
    assert not (tmp_path / "a").exists()


def test_only_a_namespace_of_ours_needs_a_sysfs_of_its_own(tmp_path):
    assert runner_command(tmp_path, tmp_path, initial=True)[0] == "/bin/sh"
    own = runner_command(tmp_path, tmp_path, initial=False)
    assert own[:2] == ["unshare", "--mount"]
    assert "mount -t sysfs sysfs /sys" in own[4]


def test_names_and_addresses_that_the_host_uses_are_refused():
    refuse_taken(2, ("rxe2", "mlx5_0"), ["127.0.0.1", "10.78.0.2"])
    with pytest.raises(
        HostCapabilityError, match="the device name rxe1: there is one already; `rdma link delete rxe1`"
    ):
        refuse_taken(2, ("rxe1",), [])
    with pytest.raises(
        HostCapabilityError, match=r"the network 10\.77\.0\.0/16: this host has 10\.77\.3\.4; --where qemu"
    ):
        refuse_taken(2, (), ["10.77.3.4"])


def test_the_setting_of_all_interfaces_comes_back(tmp_path):
    path = tmp_path / "ipv4/conf/all/rp_filter"
    path.parent.mkdir(parents=True)
    path.write_text("2\n")
    with contextlib.suppress(RuntimeError), rp_filter_off(tmp_path):
        assert path.read_text() == "0\n"
        raise RuntimeError
    assert path.read_text() == "2\n"


def test_settings_are_of_one_interface_only():
    assert {path.split("/")[2] for path, _ in device_sysctls("tbr0.ab12")} == {"tbr0.ab12"}

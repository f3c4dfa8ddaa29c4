from __future__ import annotations

from pathlib import Path

import pytest

from testbed.interop.qemu import FolderShare, QemuWire, qemu_command


def a_command(**changes):
    values = {
        "vmlinux": Path("/w/vmlinux"),
        "initrd": Path("/w/initrd.gz"),
        "console": Path("/r/console.log"),
        "shares": (FolderShare("usr", Path("/usr")), FolderShare("out", Path("/r/out"), writable=True)),
        "wires": (QemuWire("02:00:00:00:00:01", Path("/s/0.vm"), Path("/s/0.sw")),),
        "script": "setup.sh",
    }
    return qemu_command(**{**values, **changes})


def test_the_command_line():
    assert a_command() == [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-machine", "q35", "-m", "768", "-smp", "1",
        "-nodefaults", "-no-user-config", "-display", "none", "-serial", "file:/r/console.log", "-no-reboot",
        "-kernel", "/w/vmlinux", "-initrd", "/w/initrd.gz",
        "-append",
        ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check random.trust_cpu=on "
        "interop.script=setup.sh interop.devices=1"),
        "-device", "virtio-rng-pci",
        "-fsdev", "local,id=usr,path=/usr,security_model=none,multidevs=remap,readonly=on",
        "-device", "virtio-9p-pci,fsdev=usr,mount_tag=usr",
        "-fsdev", "local,id=out,path=/r/out,security_model=none,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=out,mount_tag=out",
        "-netdev", "dgram,id=wire0,local.type=unix,local.path=/s/0.vm,remote.type=unix,remote.path=/s/0.sw",
        "-device",
        ("virtio-net-pci,netdev=wire0,mac=02:00:00:00:00:01,csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,"
        "guest_ufo=off,host_mtu=4200,rx_queue_size=1024"),
    ]  # fmt: skip


def test_only_a_writable_share_can_be_written():
    shares = [word for word in a_command() if word.startswith("local,id=")]
    assert ["readonly=on" in share for share in shares] == [True, False]


@pytest.mark.parametrize(
    "changes",
    [
        {"shares": (FolderShare("usr", Path("/a,b")),)},
        {"wires": (QemuWire("02:00:00:00:00:01", Path("/s,/0.vm"), Path("/s/0.sw")),)},
    ],
)
def test_a_path_that_qemu_would_take_for_options_is_refused(changes):
    with pytest.raises(ValueError, match="a path with a comma"):
        a_command(**changes)

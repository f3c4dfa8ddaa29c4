"""QEMU's command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.interop.qemu import Share, Wire, qemu_command

WIRES = [Wire(f"02:00:00:00:00:0{n}", Path(f"/run/{n}.vm"), Path(f"/run/{n}.sw")) for n in (1, 2)]
SHARES = [Share("usr", Path("/usr")), Share("out", Path("/run/out"), writable=True)]


def command(shares=SHARES, wires=WIRES):
    return qemu_command(
        vmlinux=Path("/k/vmlinux"), initrd=Path("/k/initrd.gz"), console=Path("/run/console"), shares=shares, wires=wires,
        script="a/setup.sh",
    )  # fmt: skip


def option(words, name):
    return [words[at + 1] for at, word in enumerate(words) if word == name]


def test_the_guest_writes_to_the_result_folder_only():
    usr, out = option(command(), "-fsdev")
    assert usr == "local,id=usr,path=/usr,security_model=none,multidevs=remap,readonly=on"
    assert out == "local,id=out,path=/run/out,security_model=none,multidevs=remap"


def test_each_wire_is_a_pair_of_sockets_and_an_interface_with_its_address():
    words = command()
    assert option(words, "-netdev") == [
        f"dgram,id=wire{n},local.type=unix,local.path=/run/{n + 1}.vm,remote.type=unix,remote.path=/run/{n + 1}.sw"
        for n in range(2)
    ]
    nics = [text for text in option(words, "-device") if text.startswith("virtio-net-pci")]
    assert [text.split(",")[1:3] for text in nics] == [[f"netdev=wire{n}", f"mac={WIRES[n].mac}"] for n in range(2)]
    for text in nics:
        assert {"csum=off", "gso=off", "guest_csum=off", "host_mtu=4200"} <= set(text.split(","))


def test_the_script_learns_how_many_devices_there_are():
    words = command()
    assert option(words, "-append")[0].split()[-2:] == ["interop.script=a/setup.sh", "interop.devices=2"]
    assert option(words, "-accel") == ["tcg,thread=multi"]
    assert (option(words, "-kernel"), option(words, "-initrd")) == (["/k/vmlinux"], ["/k/initrd.gz"])


@pytest.mark.parametrize(
    "more",
    [
        {"shares": [Share("usr", Path("/a,b"))]},
        {"wires": [Wire("02:00:00:00:00:01", Path("/a,b"), Path("/a"))]},
        {"wires": [Wire("02:00:00:00:00:01", Path("/a"), Path("/a,b"))]},
    ],
)
def test_a_path_with_a_comma_is_refused(more):
    with pytest.raises(ValueError, match="QEMU cannot be told a path with a comma: /a,b"):
        command(**more)

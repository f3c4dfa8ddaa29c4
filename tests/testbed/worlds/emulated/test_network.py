import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.kernel import offloads
from testbed.kernel.cleanup import find_leftovers
from testbed.kernel.ledger import Ledger, LinkEntry, ProcessEntry
from testbed.kernel.processes import is_alive
from testbed.kernel.shaping import change_rate
from testbed.worlds.emulated import network as network_module
from testbed.worlds.emulated.network import Network, build, interface_name
from tests.support.emulated import SHAPE, needs_root
from topologies import Direction, Link, LinkShape, Node, Role, Topology, rack
from workloads.errors import HostCapabilityError, InternalError

TOPOLOGY = rack(3, SHAPE, {"h2-s1": LinkShape(rate_bps=7_000_000, mtu=1500, queue_packets=9)})


def test_interface_names_fit_and_differ() -> None:
    hosts = [Node(f"{stem}{number}", Role.HOST, bytes(6), b"") for stem in ("h", "longname") for number in range(32)]
    links = [Link(f"{host.name}-s1", host.name, 0, "s1", port, SHAPE) for port, host in enumerate(hosts)]
    topology = Topology("test", (*hosts, Node("s1", Role.SWITCH, bytes(6), b"")), tuple(links))
    names = [
        interface_name(topology, node.name, port, "abcde")
        for node in topology.nodes
        for port, _, _ in topology.ports(node.name)
    ]
    assert len(set(names)) == len(names) == 128
    assert max(map(len, names)) <= 15
    assert names[0] == "h0-0.abcde"


class TestBuilt:
    pytestmark = [*needs_root, pytest.mark.programs]

    @pytest.fixture
    def ledger(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
        monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
        ledger = Ledger.create("run-1", tmp_path)
        yield ledger
        ledger.close()

    @pytest.fixture
    def network(self, ledger: Ledger) -> Iterator[Network]:
        network = build(TOPOLOGY, ledger)
        yield network
        network.stop()

    def run(self, network: Network, node: str, *command: str) -> str:
        return subprocess.run(
            ["nsenter", f"--net=/proc/{network.pid(node)}/ns/net", *command], capture_output=True, text=True, check=True
        ).stdout

    def test_where_frames_come_one_by_one_switches_alone_have_short_bursts(self, ledger: Ledger) -> None:
        network = build(TOPOLOGY, ledger, exact=True)
        try:
            ends = [("h1", network.interfaces("h1")[0]), ("s1", network.interfaces("s1")[0])]
            host, switch = (self.run(network, node, "tc", "class", "show", "dev", name) for node, name in ends)
        finally:
            network.stop()
        rate_bps, mtu = SHAPE.rate_bps, SHAPE.mtu
        assert "burst 25000b" in host
        assert 2 * (mtu + 18) <= 25_000 == rate_bps * 0.004 / 8
        assert "burst 6250b" in switch

    def test_an_independent_tool_sees_what_was_asked(self, network: Network) -> None:
        h2, s1 = network.interfaces("h2")[0], network.interfaces("s1")
        assert "mtu 1500" in self.run(network, "h2", "ip", "-o", "link", "show", h2)
        assert "02:49:4e:41:00:02" in self.run(network, "h2", "ip", "-o", "link", "show", h2)
        assert "inet 10.77.0.3/16" in self.run(network, "h2", "ip", "-o", "addr", "show", h2)
        assert "rate 7Mbit" in self.run(network, "h2", "tc", "class", "show", "dev", h2)
        assert "limit 9p" in self.run(network, "h2", "tc", "qdisc", "show", "dev", h2)
        assert "rate 50Mbit" in self.run(network, "s1", "tc", "class", "show", "dev", s1[2])
        assert "limit 123p" in self.run(network, "s1", "tc", "qdisc", "show", "dev", s1[2])
        assert "mtu 9000" in self.run(network, "s1", "ip", "-o", "link", "show", s1[2])
        assert "PROMISC" in self.run(network, "s1", "ip", "-o", "link", "show", s1[0])
        features = self.run(network, "h1", "ethtool", "-k", network.interfaces("h1")[0])
        for name in ("rx-checksumming", "tx-checksumming", "tx-tcp-segmentation", "generic-segmentation-offload"):
            assert f"{name}: off" in features
        assert "inet6" not in self.run(network, "h1", "ip", "addr")
        neighbours = self.run(network, "h1", "ip", "neigh").splitlines()
        assert sorted(line.split()[0] for line in neighbours) == ["10.77.0.3", "10.77.0.4"]
        assert all(line.split()[-1] == "PERMANENT" for line in neighbours)

    def test_one_processor_receives_what_comes_by_a_link(self, network: Network) -> None:
        """Backlogs of two would let frames of one link overtake each other."""
        masks = []
        for node in ("h1", "h2", "s1"):
            for name in network.interfaces(node):
                place = Path("/proc", str(network.pid(node)), "root", "sys/class/net", name, "queues/rx-0/rps_cpus")
                masks.append(int(place.read_text(encoding="ascii").replace(",", ""), 16))
        assert all(mask.bit_count() == 1 for mask in masks)
        assert len(set(masks)) == min(2, len(os.sched_getaffinity(0)))

    def test_every_process_and_interface_is_in_the_ledger(self, network: Network, ledger: Ledger) -> None:
        entries = ledger.entries()
        listed = {entry.process.pid for entry in entries if isinstance(entry, ProcessEntry)}
        assert listed == {network.pid(node.name) for node in TOPOLOGY.nodes}
        links = {(entry.name, entry.namespace) for entry in entries if isinstance(entry, LinkEntry)}
        assert links == {
            (name, os.stat(f"/proc/{network.pid(node.name)}/ns/net").st_ino)
            for node in TOPOLOGY.nodes
            for name in network.interfaces(node.name)
        }

    def test_rates_change_and_are_counted_where_they_are_sent(self, network: Network) -> None:
        link = TOPOLOGY.link("h1-s1")
        network.set_rate(link, Direction.DOWN, 3_000_000)
        assert network.read_shaping(link, Direction.UP).rate_bps == 50_000_000
        assert "rate 3Mbit" in self.run(network, "s1", "tc", "class", "show", "dev", network.interface("s1", 0))

    def test_a_changed_rate_that_the_kernel_does_not_show_is_an_error(
        self, network: Network, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(network_module, "change_rate", lambda *args, **kwargs: None)
        with pytest.raises(InternalError, match=r"^link h1-s1 up: rate: asked for 3000000, the kernel shows 50000000$"):
            network.set_rate(TOPOLOGY.link("h1-s1"), Direction.UP, 3_000_000)

    def test_a_changed_rate_that_the_kernel_refuses_is_a_capability_error(self, network: Network) -> None:
        interface = network.interface("h1", 0)
        self.run(network, "h1", "tc", "qdisc", "del", "dev", interface, "root")
        text = (
            r"^this machine lacks what is needed to change the rate of link h1-s1 up \(the kernel says: .+\); run `tb "
            r"doctor`"
        )
        with pytest.raises(HostCapabilityError, match=text):
            network.set_rate(TOPOLOGY.link("h1-s1"), Direction.UP, 3_000_000)

    def test_a_port_that_goes_down_takes_the_carrier_of_its_far_end(self, network: Network) -> None:
        far = network.interface("h1", 0)
        seen = []
        for up in (False, True):
            network.set_state("s1", 0, up=up)
            shown = self.run(network, "h1", "ip", "-o", "link", "show", far)
            near = self.run(network, "s1", "ip", "-o", "link", "show", network.interface("s1", 0))
            seen.append(("NO-CARRIER" in shown, "PROMISC" in near))
        assert seen == [(True, True), (False, True)]

    def test_a_port_that_has_gone_cannot_be_set_up(self, network: Network) -> None:
        self.run(network, "s1", "ip", "link", "del", network.interface("s1", 0))
        text = (
            r"^this machine lacks what is needed to set port 0 of s1 up \(the kernel says: No such device\); run `tb "
            r"doctor`"
        )
        with pytest.raises(HostCapabilityError, match=text):
            network.set_state("s1", 0, up=True)

    def test_nothing_is_left_and_stopping_twice_is_harmless(self, network: Network, ledger: Ledger) -> None:
        network.stop()
        network.stop()
        assert find_leftovers(ledger.entries()) == ()

    @pytest.mark.parametrize(
        ("name", "found"),
        [
            ("shape", "its HTB class is not there"),
            ("turn_offloads_off", "offload .*: asked for False, the kernel shows True"),
        ],
    )
    def test_a_network_weaker_than_asked_is_refused_and_removed(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, name: str, found: str
    ) -> None:
        monkeypatch.setattr(network_module, name, lambda *args, **kwargs: None)
        with pytest.raises(InternalError, match=found):
            build(TOPOLOGY, ledger)
        assert find_leftovers(ledger.entries()) == ()

    def test_a_wish_that_the_kernel_refuses_is_a_capability_error(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def too_early(netlink: object, index: int, **_: object) -> None:
            change_rate(netlink, index, rate_bps=8_000, mtu=1500)

        monkeypatch.setattr(network_module, "shape", too_early)
        text = r"^this machine lacks what is needed to configure h1 \(the kernel says: "
        with pytest.raises(HostCapabilityError, match=text):
            build(TOPOLOGY, ledger)
        assert find_leftovers(ledger.entries()) == ()

    def test_an_mtu_beyond_the_interface_is_refused_before_anything_is_made(self, ledger: Ledger) -> None:
        with pytest.raises(HostCapabilityError, match=r"an MTU of 70000 bytes \(h1-s1\); use 68 to 65535"):
            build(rack(2, LinkShape(mtu=70_000)), ledger)
        assert ledger.entries() == []

    def test_an_interruption_between_the_steps_removes_what_was_made(self, ledger: Ledger) -> None:
        calls = iter(range(100))

        def interrupt() -> None:
            if next(calls) == 9:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build(TOPOLOGY, ledger, interrupt)
        entries = ledger.entries()
        assert any(isinstance(entry, LinkEntry) for entry in entries)
        assert not any(is_alive(entry.process) for entry in entries if isinstance(entry, ProcessEntry))

    def test_trouble_inside_mininet_is_told_in_one_line(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(InternalError, match=r"^Mininet could not start node h1: "):
            build(TOPOLOGY, ledger)

    def test_offloads_can_be_seen_on_before(self, ledger: Ledger, network: Network) -> None:
        sockets = network._sockets["h1"]
        interface = network.interfaces("h1")[0]
        self.run(network, "h1", "ethtool", "-K", interface, "gro", "on")
        assert offloads.read_offloads(sockets.socket, interface)["gro"] is True


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.timeout(60)
def test_a_shell_that_cannot_start_is_told_and_not_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mininet's mnexec gives up where it may not change mounts, as in a chroot."""
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    fake = tmp_path / "mnexec"
    fake.write_text("#!/bin/sh\necho 'unable to modify mount namespace'\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ledger = Ledger.create("run-1", tmp_path)
    try:
        with pytest.raises(HostCapabilityError) as caught:
            build(rack(2, SHAPE), ledger)
    finally:
        ledger.close()
    assert str(caught.value) == (
        "this machine lacks a namespace for h1: Mininet's mnexec ended with exit status 1; "
        "it said: unable to modify mount namespace"
    )

"""Guards, on the loopback interface."""

from __future__ import annotations

import inspect
import socket

import pytest

from testbed.lab.agent.guard import Guards
from testbed.lab.agent.protocol import AgentRefused
from testbed.lab.drivers.host import HostDriver
from workloads.wire import ROCE_PORT
from workloads.wire.aggregation import AGGREGATION_PORT

PORTS = (ROCE_PORT, AGGREGATION_PORT)


def is_refused(port: int) -> bool:
    """Whether the kernel answers with ICMP port unreachable."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("127.0.0.1", port))
        probe.send(b"1")
        probe.settimeout(0.05)
        try:
            probe.recv(1)
        except ConnectionRefusedError:
            return True
        except TimeoutError:
            return False
    return False


def test_ports_are_those_of_the_wire():
    asked = inspect.signature(HostDriver.attach.step.act).parameters["ports"].default
    assert asked == PORTS


def test_no_port_is_refused_while_attached():
    guards = Guards()
    assert [is_refused(port) for port in PORTS] == [True, True]
    guards.attach("lo", 1500, PORTS, "host")
    assert [is_refused(port) for port in PORTS] == [False, False]
    assert guards.detach("lo")
    assert [is_refused(port) for port in PORTS] == [True, True]


def test_port_that_somebody_has():
    """Nothing stays behind of what was attached before."""
    guards, last = Guards(), PORTS[-1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", last))
        with pytest.raises(AgentRefused, match=f"interface lo: UDP port {last}: Address already in use"):
            guards.attach("lo", 1500, PORTS, "host")
    assert guards.attached() == ()
    assert is_refused(PORTS[0])

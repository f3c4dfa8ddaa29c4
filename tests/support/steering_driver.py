"""The controller as a program of its own, for tests that talk to it through a real socket, under os-ken or ryu. Facts
and readings go to stdout as JSON lines. Two hosts and an accelerator with two ports around s1."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from switch_nodes.config import SwitchConfig
from switch_nodes.steering.layout import SteeredEdge, SteeringConfig
from testbed.steering.compat import library_name, library_parts
from testbed.steering.controller import Controller
from testbed.steering.fabric import Fabric, make_fabric
from testbed.steering.launch import run_controller
from testbed.steering.readings import TableReading
from testbed.steering.session import OpenFlowSession
from topologies import LinkShape, host_ip, rack_accelerator, spine_leaf
from workloads.machine import Event, event_record

DSCP = 26


def two_host_fabric() -> Fabric:
    """h1 on port 0, h2 on port 1; data of h1 goes through port 2, of h2 through port 3."""
    one, two = host_ip(1), host_ip(2)
    edges = (SteeredEdge("h1-h2", one, two, (0,), 2), SteeredEdge("h2-h1", two, one, (1,), 3))
    steering = SteeringConfig((), edges, (2, 3), DSCP)
    config = SwitchConfig(name="s1", program="steer", ports=4, flow_salt=7, steering=steering)
    return make_fabric(rack_accelerator(2, 2, LinkShape()), [config])


def leaf_fabric() -> Fabric:
    """Of a spine-leaf network leaf1 only: h1 and h2 on ports 0 and 1, two equal ports to h3."""
    topology = spine_leaf((2, 1), 2, LinkShape(), LinkShape())
    return make_fabric(topology, [SwitchConfig(name="leaf1", program="forward", ports=4, flow_salt=7)])


FABRICS = {"accelerator": two_host_fabric, "leaf": leaf_fabric}


def _say(document: object) -> None:
    sys.stdout.write(json.dumps(document, default=str) + "\n")
    sys.stdout.flush()


def main(port: int, fabric: Fabric) -> None:
    parts = library_parts()

    def tell(event: Event) -> None:
        _say(event_record(event))

    def on_reading(reading: TableReading) -> None:
        _say({"event": "reading", **asdict(reading)})

    session = OpenFlowSession(Controller(fabric), tell, on_reading)

    def ask() -> None:
        while True:
            parts.hub.sleep(0.3)
            session.ask_counters()

    _say({"event": "library", "name": library_name()})
    parts.hub.spawn(ask)
    run_controller(session, "127.0.0.1", port)


if __name__ == "__main__":
    main(int(sys.argv[1]), FABRICS[sys.argv[2]]())

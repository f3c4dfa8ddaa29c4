"""An accelerator beside the switch is nothing to traffic that is not the job's."""

from __future__ import annotations

from testbed.captures.capture import MemoryTap
from testbed.history import Record
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation

TENANT = "background=[{name: tenant, kind: udp, from: h1, to: h3, rate: 4Mbps, stop: 60ms}]"
SMALL = ("job.size=60kB", "job.message_packets=8")


def delivered(name: str, *overrides: str) -> list[bytes]:
    """Frames of the tenant that leave the switch towards h3."""
    scenario = load_scenario(name, [*SMALL, TENANT, *overrides], world="simulated")
    plan = make_plan(scenario)
    links = [link.name for _, link, _ in sorted(scenario.topology.ports("s1"))]
    tap = MemoryTap("s1", links)
    Simulation(plan, list[Record]().append, {"s1": tap}).run()
    (flow,) = plan.background
    port = flow.config.dport.to_bytes(2, "big")
    return [
        bytes(captured.frame)
        for interface, captured in tap.read()
        if captured.outgoing and interface == "h3-s1" and captured.frame[36:38] == port and captured.frame[23] == 17
    ]


def test_other_traffic_between_the_same_hosts_is_the_same_to_the_byte() -> None:
    plain = delivered("rack")
    assert len(plain) > 20
    assert delivered("accelerator") == plain
    assert delivered("accelerator", "job.protocol=ring", "switch.program=forward") == plain

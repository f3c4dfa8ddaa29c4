"""What a scenario whose switches are aggregation cards must not ask for."""

from __future__ import annotations

from switch_nodes.kinds import program_kinds
from testbed.reading.problems import Problems
from testbed.scenario.keys.switch import SwitchOptions
from topologies import Topology, attachment
from topologies.routing import next_hops

__all__ = ["check_card"]


def check_card(problems: Problems, topology: Topology, switch: SwitchOptions, trace: bool) -> None:
    """A card's registers hold one way to each host, and it does not tell the steps of its tables."""
    kind = program_kinds().get(switch.program)
    if kind is None or not kind.is_card:
        return
    if trace:
        problems.add(
            ("trace",), "a card does not tell the steps of its tables", found="true",
            allowed="false with switch.program: fpga",
        )  # fmt: skip
    cards = {node.name for node in topology.switches}
    if attachment(topology) is not None:
        cards = set()  # an accelerator sends all that goes to one host the same way
    if topology.kind == "machines":
        cards = {node.name for node in topology.switches if node.part == "rack"}
    several = sorted({name for (name, _), ports in next_hops(topology).items() if name in cards and len(ports) > 1})
    if several:
        problems.add(
            ("switch", "program"), "the registers of a card hold one way to each host",
            found=f"several equal ones at {', '.join(several)}",
            allowed="a topology with one (spine_leaf: spines: 1), or switch.program: netreduce",
        )  # fmt: skip

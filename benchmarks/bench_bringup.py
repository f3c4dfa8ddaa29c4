"""How long a network takes to come up and to go, beside plain Mininet's for the same graph and rates.

`python -m benchmarks.bench_bringup [--repeats N] [--cases "NAME;..."] [--json] [--profile NAME]` as root. Both take
turns, so that a change of the machine's load meets both; what is compared are wall times of one run, as median, spread
and ratio.

Ours is what a run does before and after its traffic: namespaces, links, addresses, shaping, all of it read back; a
process per node, its data plane open, waiting at the barrier; then stop, removal, and the search for leftovers.
Mininet's is `build` and `start` with a TCLink of the same rate for every link, then `stop`: no process but a shell per
node, nothing read back. Its switch does nothing (no forwarding daemon to wait for); for the rack there is also its
LinuxBridge. So ours does more. Everything is in a namespace of the benchmark's own.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import logging
import os
import pstats
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from testbed.kernel.cleanup import find_leftovers, remove_run
from testbed.kernel.interruption import Interruption
from testbed.kernel.ledger import Ledger
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Job, Scenario, SwitchOptions
from testbed.worlds.emulated.fleet import Fleet, FleetPhase
from testbed.worlds.emulated.network import build
from testbed.worlds.emulated.node import NodeTask
from testbed.worlds.emulated.preload import preload
from testbed.worlds.emulated.programs import build_node
from tests.support.namespace import own_namespace
from topologies import PREFIX_LENGTH, LinkShape, Role, Topology, fat_tree, format_ip, format_mac, rack, spine_leaf

_SHAPE = LinkShape(rate_bps=20_000_000)
_TIMEOUT_S = 120.0
CASES: dict[str, Callable[[], Topology]] = {
    "rack of 8": lambda: rack(8, _SHAPE),
    "rack of 32": lambda: rack(32, _SHAPE),
    "spine-leaf 2x4x2": lambda: spine_leaf([2] * 4, 2, _SHAPE),
    "fat tree k=4": lambda: fat_tree(4, _SHAPE),
}
Times = dict[str, float]
"""seconds, by phase"""


def plan_of(topology: Topology) -> Plan:
    job, switch = Job(protocol="ring", size_bytes=4_000), SwitchOptions(program="forward")
    return make_plan(Scenario("bringup", topology, _SHAPE, job=job, switch=switch, capture=False))


def ours(topology: Topology) -> Times:
    """One network of the emulated world, up to the barrier and down again. Raises AssertionError when something is
    left."""
    plan = plan_of(topology)
    with tempfile.TemporaryDirectory(prefix="ina-bringup-") as folder, Interruption() as interruption:
        run_dir = Path(folder)
        began = time.monotonic()
        ledger = Ledger.create(f"bringup.{os.getpid()}.{time.monotonic_ns()}", run_dir)
        network = build(topology, ledger)
        linked = time.monotonic()
        fleet = Fleet(ledger, build_node, interruption, tell=lambda event: None, on_record=lambda record: None)
        with preload():
            for node in topology.nodes:
                fleet.launch(NodeTask(plan, node, network.interfaces(node.name), run_dir), network.pid(node.name))
        fleet.await_all(FleetPhase.READY, _TIMEOUT_S)
        ready = time.monotonic()
        for role in Role:
            fleet.stop(role)
        fleet.close()
        network.stop()
        entries = ledger.entries()
        left = find_leftovers(entries)
        ledger.close()
        remove_run(ledger.folder, ledger.owner, entries)
        gone = time.monotonic()
    assert not left, left
    return {"network": linked - began, "up": ready - began, "down": gone - ready}


def mininets(topology: Topology, kind: str) -> Times:
    """The same graph by plain Mininet; `kind` of switch: nothing, bridge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mininet.link import TCLink
        from mininet.log import lg
        from mininet.net import Mininet
        from mininet.node import Switch
        from mininet.nodelib import LinuxBridge

    class Nothing(Switch):  # type: ignore[misc]
        def start(self, controllers: Any) -> None:
            pass

        def stop(self, deleteIntfs: bool = True) -> None:
            super().stop(deleteIntfs)

    lg.setLevel(logging.CRITICAL + 1)
    # Else it would change sysctls and limits of the whole machine; not waiting for that is in its favour.
    Mininet.inited = True
    began = time.monotonic()
    net = Mininet(topo=None, controller=None, build=False, switch=LinuxBridge if kind == "bridge" else Nothing)
    try:
        for number, node in enumerate(topology.nodes, start=1):
            if node.role is Role.HOST:
                net.addHost(node.name, ip=f"{format_ip(node.ip)}/{PREFIX_LENGTH}", mac=format_mac(node.mac))
            else:
                net.addSwitch(node.name, dpid=f"{number:x}")
        for link in topology.links:
            net.addLink(link.a, link.b, cls=TCLink, bw=link.shape.rate_bps / 1e6)
        net.build()
        linked = time.monotonic()
        net.start()
        ready = time.monotonic()
    finally:
        net.stop()
    return {"network": linked - began, "up": ready - began, "down": time.monotonic() - ready}


def compare(name: str, repeats: int) -> list[dict[str, Any]]:
    topology = CASES[name]()
    kinds = ["nothing", "bridge"] if topology.kind == "rack" else ["nothing"]
    own: list[Times] = []
    theirs: dict[str, list[Times]] = {kind: [] for kind in kinds}
    for repeat in range(repeats + 1):
        taken = ours(topology), {kind: mininets(topology, kind) for kind in kinds}
        if repeat:
            # The first of each meets cold caches and imports.
            own.append(taken[0])
            for kind in kinds:
                theirs[kind].append(taken[1][kind])
    return [
        _row(f"{name}: {phase}", f"Mininet, switch: {kind}", [t[phase] for t in own], [t[phase] for t in theirs[kind]])
        for kind in kinds
        for phase in ("network", "up", "down")
    ]


def _row(measured: str, peer: str, values: list[float], peers: list[float]) -> dict[str, Any]:
    return {
        "measured": measured,
        "peer": peer,
        "repeats": len(values),
        "median": statistics.median(values),
        "spread": [min(values), max(values)],
        "peer_median": statistics.median(peers),
        "peer_spread": [min(peers), max(peers)],
        "unit": "s",
        "ratio": statistics.median(a / b for a, b in zip(values, peers, strict=True)),
    }


def profile(name: str) -> None:
    """Where our own time goes, in the orchestrator."""
    topology, profiler = CASES[name](), cProfile.Profile()
    ours(topology)
    profiler.runcall(ours, topology)
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("cumulative").print_stats(45)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cases", default=";".join(CASES), help="default: all")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", metavar="NAME", choices=list(CASES))
    options = parser.parse_args()
    with own_namespace():
        if options.profile:
            profile(options.profile)
            return 0
        rows = [row for name in options.cases.split(";") for row in compare(name, options.repeats)]
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        (low, high), (peer_low, peer_high) = row["spread"], row["peer_spread"]
        print(
            f"{row['measured']:26} {row['median']:.3f} s ({low:.3f}..{high:.3f})  {row['peer']:24} "
            f"{row['peer_median']:.3f} s ({peer_low:.3f}..{peer_high:.3f})  ratio {row['ratio']:.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`tb bench fabric`: two-level NetReduce and ring all-reduce over a 4:1 oversubscribed spine-leaf fabric, compared with
the cost model.

The ring's one connection between two racks takes one uplink, so it runs at that one's rate. NetReduce's sums take all
spines, by the hash of each message.
"""

from __future__ import annotations

from collections.abc import Callable

from testbed.bench.measure import Measurement, ToldRun, measure
from testbed.bench.rows import Row, spread, trust_of
from testbed.checkers.context import CheckContext
from testbed.checkers.uplinks import leaf_loads
from testbed.kernel.scratch import scratch
from testbed.plan import make_plan
from testbed.runs.run import run_scenario
from testbed.scenario.geometry import FRAME_OVERHEAD_BYTES
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.scenario.protocols.known import protocol_of
from testbed.terminal.numbers import seconds
from topologies import LinkShape, spine_leaf
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.costs.flat import ring
from workloads.errors import InternalError

__all__ = ["bench_fabric", "fabric_scenario", "predicted_factor"]

Say = Callable[[str], None]
_RACKS, _SPINES, _OVERSUBSCRIPTION = 4, 2, 4.0
_PATH_MTU, _MESSAGE_PACKETS, _WINDOW_MESSAGES = 1024, 16, 16
_SEEDS = (1, 2, 3)
_WITHIN = 0.10
_SIMULATED, _EMULATED = (100_000_000, 8_000_000), (40_000_000, 2_000_000)
"""(rate of hosts, bytes of a gradient)"""


def fabric_scenario(
    protocol: str,
    hosts_per_rack: int,
    size_bytes: int,
    *,
    rate_bps: int,
    world: str,
    seed: int,
    capture: bool = False,
) -> Scenario:
    """One lossless all-reduce."""
    shape = LinkShape(rate_bps, 5_000, queue_packets=100_000)
    return Scenario(
        name=f"bench-fabric-{protocol}-{hosts_per_rack}",
        topology=spine_leaf([hosts_per_rack] * _RACKS, _SPINES, shape, oversubscription=_OVERSUBSCRIPTION),
        link=shape,
        seed=seed,
        world=world,
        transport=Transport(path_mtu=_PATH_MTU, timeout_code=19, ack_every=64),
        switch=SwitchOptions(program=protocol_of(protocol).programs[0]),
        job=Job(
            protocol=protocol,
            size_bytes=size_bytes,
            message_packets=_MESSAGE_PACKETS,
            window_messages=_WINDOW_MESSAGES,
        ),
        capture=capture,
        time_limit_ns=600_000_000_000,
    )


def predicted_factor(hosts_per_rack: int, size_bytes: int, rate_bps: int) -> float:
    """Time of the ring over that of NetReduce, latencies left out: 2(P-1)/P M/B_up against M/min(B, S B_up)."""
    share = _PATH_MTU / (_PATH_MTU + FRAME_OVERHEAD_BYTES)
    up_bps = hosts_per_rack * rate_bps / (_SPINES * _OVERSUBSCRIPTION) * share
    flat = ring(_RACKS * hosts_per_rack, size_bytes, min(up_bps, rate_bps * share), 0.0)
    return flat / (size_bytes * 8 / min(rate_bps * share, _SPINES * up_bps))


def bench_fabric(say: Say, world: str = "simulated") -> list[Row]:
    """Raises InternalError when a sum is wrong, or a capture cannot be read."""
    simulated = world == "simulated"
    rate_bps, size = _SIMULATED if simulated else _EMULATED
    rows = []
    for hosts in (2, 4):
        closed = predicted_factor(hosts, size, rate_bps)
        factors, runs = [], list[Measurement]()
        for seed in _SEEDS:
            both = [
                measure(fabric_scenario(kind, hosts, size, rate_bps=rate_bps, world=world, seed=seed))
                for kind in ("ring", "netreduce")
            ]
            runs += both
            factors.append(both[0].jct_s / both[1].jct_s)
            say(
                f"{_RACKS} racks of {hosts}, seed {seed}: ring {seconds(both[0].jct_s)}, NetReduce "
                f"{seconds(both[1].jct_s)}"
            )
        middle = sorted(factors)[len(factors) // 2]
        target, most = (1 - _WITHIN, 1 + _WITHIN) if simulated else (None, None)
        fidelity = "pass" if all(run.fidelity == "pass" for run in runs) else "unknown"
        rows.append(
            Row(
                f"ring time / NetReduce time, {_RACKS} racks of {hosts}, 4:1, {size / 1e6:g} MB",
                f"cost model {closed:.3f}",
                len(factors), middle, spread(factors), "", middle / closed, target, fidelity, most=most,
                **trust_of(world, runs),
            )
        )  # fmt: skip
        rows.append(_load(say, hosts, size // 4, rate_bps, world))
    return rows


def _load(say: Say, hosts: int, size: int, rate_bps: int, world: str) -> Row:
    """Bytes up the fabric, from the captures of the leaves."""
    scenario = fabric_scenario("netreduce", hosts, size, rate_bps=rate_bps, world=world, seed=1, capture=True)
    with scratch() as folder:
        result = run_scenario(scenario, folder / "run", pcap=True)
        run = ToldRun.of(result.document)
        if result.document["verdict"] == "fail":
            raise InternalError(f"{scenario.name}: {result.document['checks']}")
        plan = make_plan(scenario)
        captures = tuple(folder / "run" / f"{config.name}.pcapng" for config in plan.switches)
        loads = list(leaf_loads(CheckContext(plan, result.history, captures)))
    messages = -(-size // (_MESSAGE_PACKETS * _PATH_MTU - INA_HEADER_BYTES)) + scenario.job.hello
    expected = size + messages * INA_HEADER_BYTES
    sent = [load.payload_bytes / expected for load in loads]
    again = sum(load.packets - len(load.up) for load in loads)
    say(f"{_RACKS} racks of {hosts}: a leaf sends {max(load.payload_bytes for load in loads)} bytes up, M is {size}")
    lossless = world == "simulated"
    return Row(
        f"bytes of a leaf up the fabric, {hosts} hosts, {size / 1e6:g} MB each",
        f"M with its headers, {expected} bytes",
        len(sent), max(sent), spread(sent), "", max(sent), 1.0 if lossless else None, "pass",
        note=f"{again} repetitions; all packets of its hosts would be {hosts}", most=1.0 if lossless else None,
        **trust_of(world, [run]),
    )  # fmt: skip

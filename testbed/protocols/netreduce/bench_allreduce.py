"""`tb bench allreduce`: NetReduce compared with ring all-reduce on the same endpoints and links, and the machine's
limit.

The framing bound is link rate x payload bytes / frame bytes. For scale: a gloo ring (PyTorch) takes 1.61 and 1.87 times
M/B at 4 and 8 hosts; the ring's own bound is 2(N-1)/N times M/B.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from testbed.bench.measure import Measurement, allreduce_scenario, measure
from testbed.bench.rows import Row, repeated, trust_of
from testbed.terminal.numbers import seconds

__all__ = ["bench_allreduce"]

_SIZE_BYTES = 16_000_000
_REPEATS = 5
_WORLD = "emulated"
_RATES_BPS = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
_ENOUGH = 0.90
_MEMORY_BOUND_BYTES = 3 * _SIZE_BYTES + 120 * 1024 * 1024

Say = Callable[[str], None]


def bench_allreduce(
    say: Say, *, repeats: int = _REPEATS, search: bool = True, dilation: int | None = None
) -> list[Row]:
    """`dilation`: of the runs that are compared with the ring; None leaves it to the machine. The search for what this
    machine carries does not use it."""
    rows: list[Row] = []
    for hosts in (2, 4, 8):
        rows += _against_ring(say, hosts, repeats, dilation)
    rows.append(_bulk(say, repeats))
    if search:
        rows += [_highest_rate(say, path_mtu) for path_mtu in (1024, 4096)]
    return rows


def _run(
    say: Say, protocol: str, hosts: int, rate_mbps: int, path_mtu: int, seed: int, dilation: int | None = None
) -> Measurement:
    """`dilation`: None leaves it to the machine."""
    found = measure(allreduce_scenario(protocol, hosts, rate_mbps * 1_000_000, path_mtu, _SIZE_BYTES, seed, dilation))
    say(
        f"{protocol} N={hosts} {rate_mbps} Mbps, {path_mtu}-byte payloads: {seconds(found.jct_s)}, "
        f"{found.goodput_bps / found.bound_bps:.1%} of the framing bound, dilation {found.dilation}, "
        f"{_off(found)}fidelity {found.fidelity}"
    )
    return found


def _off(found: Measurement) -> str:
    return "" if found.deviation is None else f"{found.deviation:+.1%} from the reference run in virtual time, "


def _worst_fidelity(runs: list[Measurement]) -> tuple[str, str]:
    reasons = [reason for run in runs for reason in run.reasons]
    return ("pass" if all(run.fidelity == "pass" for run in runs) else "unknown"), "; ".join(sorted(set(reasons)))[:200]


def _against_ring(say: Say, hosts: int, repeats: int, dilation: int | None) -> list[Row]:
    """NetReduce and ring take turns, so that a slow spell of the machine meets both."""
    tree, ring = [], []
    for seed in range(1, repeats + 1):
        tree.append(_run(say, "netreduce", hosts, 100, 1024, seed, dilation))
        ring.append(_run(say, "ring", hosts, 100, 1024, seed, dilation))
    fidelity, note = _worst_fidelity(tree)
    goodputs = [run.goodput_bps for run in tree]
    ratios = [b.jct_s / a.jct_s for a, b in zip(tree, ring, strict=True)]
    ring_fidelity, ring_note = _worst_fidelity(tree + ring)
    peak = [run.worker_peak_bytes for run in tree + ring]
    return [
        Row(
            f"NetReduce goodput, N={hosts}, 100 Mbps, 16 MB float32", "framing bound", *repeated(goodputs), "bit/s",
            median(goodputs) / tree[0].bound_bps, target=0.95, fidelity=fidelity, note=note, **trust_of(_WORLD, tree),
        ),
        Row(
            f"ring time / NetReduce time, N={hosts}", f"2(N-1)/N = {2 * (hosts - 1) / hosts:.3f}",
            *repeated(ratios), "", median(ratios) / (2 * (hosts - 1) / hosts), target=0.95,
            fidelity=ring_fidelity, note=ring_note, **trust_of(_WORLD, tree + ring),
        ),
        Row(
            f"memory limit / peak memory of a worker, N={hosts}", "3 x gradient + 120 MiB", *repeated(peak), "byte",
            _MEMORY_BOUND_BYTES / max(peak), target=1.0, **trust_of(_WORLD, tree + ring),
        ),
    ]  # fmt: skip


def _bulk(say: Say, repeats: int) -> Row:
    runs = [_run(say, "netreduce", 4, 300, 4096, seed, dilation=1) for seed in range(1, repeats + 1)]
    fidelity, note = _worst_fidelity(runs)
    goodputs = [run.goodput_bps for run in runs]
    return Row(
        "NetReduce goodput, N=4, 300 Mbps, 4096-byte payloads, fidelity holding", "framing bound",
        *repeated(goodputs), "bit/s", median(goodputs) / runs[0].bound_bps, target=0.90,
        fidelity=fidelity, needs_fidelity=True, note=note, **trust_of(_WORLD, runs),
    )  # fmt: skip


def _highest_rate(say: Say, path_mtu: int) -> Row:
    """The last rate at which the median of three runs reaches 90 % of its bound with the fidelity check holding."""
    best: list[Measurement] = []
    best_mbps, why = 0, "no rate held"
    for rate_mbps in _RATES_BPS:
        runs = [_run(say, "netreduce", 4, rate_mbps, path_mtu, seed, dilation=1) for seed in range(1, 4)]
        share = median(run.goodput_bps / run.bound_bps for run in runs)
        held = sum(run.fidelity == "pass" for run in runs) * 2 > len(runs)
        if share < _ENOUGH or not held:
            reasons = _worst_fidelity(runs)[1] or "fidelity holds"
            why = f"at {rate_mbps} Mbps {share:.0%} of the bound, {reasons}; busiest: {runs[0].busiest}"
            break
        best, best_mbps, why = runs, rate_mbps, f"{rate_mbps} Mbps is the highest tried; busiest: {runs[0].busiest}"
    goodputs = [run.goodput_bps for run in best] or [0.0]
    return Row(
        what=f"highest sustained link rate, N=4, {path_mtu}-byte payloads",
        peer="1 Gbps (the aim)",
        repeats=len(best),
        median=median(goodputs),
        spread=0.0 if not best else (max(goodputs) - min(goodputs)) / median(goodputs),
        unit="bit/s",
        ratio=best_mbps / 1000,
        note=why,
        **trust_of(_WORLD, best),
    )

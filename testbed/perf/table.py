"""The text of nccl-tests, one table per protocol. What it has no columns for stands below it, in lines that begin with
`#`, which readers of that format skip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from testbed import __version__
from testbed.perf.request import PerfRequest
from testbed.perf.rows import BandwidthRow, MeasuredBandwidth
from testbed.reading.units import format_rate
from testbed.scenario import Scenario

__all__ = ["average_busbw", "program_of", "redop_and_root", "table_lines", "wrong_halves"]

_HALVES = ("out of place", "in place")
_PERCENTS = (50, 95, 99)
_UNKNOWN = "N/A"
_FRONT = "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}"
_HALF = "  {:>7}  {:>6}  {:>6}  {:>6}"
_WIRE = "  {:>12}  {:>12}  {:>12}  {:>6}  {:<12}"
_LATENCY = "  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}"


def table_lines(
    request: PerfRequest, scenario: Scenario, protocol: str, rows: Sequence[BandwidthRow], *, latency: bool
) -> Iterator[str]:
    """Of one protocol. `latency`: with the percentiles of its iterations."""
    yield from _head(request, scenario, protocol, rows)
    for row in rows:
        front = _FRONT.format(row.size, row.count, request.dtype, *redop_and_root(request))
        yield front + "".join(_half(row, half) for half in row.halves)
    wrong, average = wrong_halves(rows), average_busbw(rows)
    yield f"# {'Out of bounds values':<20} : {wrong} {'FAILED' if wrong else 'OK'}"
    yield f"# {'Avg bus bandwidth':<20} : {_UNKNOWN if average is None else format(average / 1e9, 'g')} "
    yield "#"
    yield f"# Collective test concluded: {program_of(request)}"
    yield "#"
    yield from _wire(rows)
    yield from _latency(rows) if latency else ()
    yield from _remarks(rows)


def redop_and_root(request: PerfRequest) -> tuple[str, int]:
    """As nccl-tests writes them: `none` where nothing is summed, and -1 where there is no root."""
    operation = request.operation
    return request.op if operation.sums else "none", request.root or 0 if operation.has_root else -1


def program_of(request: PerfRequest) -> str:
    """Its name among nccl-tests."""
    return f"{request.collective}_perf"


def wrong_halves(rows: Sequence[BandwidthRow]) -> int:
    """Runs with a result that differs from the reference."""
    return sum(half.is_exact is False for row in rows for half in row.halves)


def average_busbw(rows: Sequence[BandwidthRow]) -> float | None:
    """Over all halves that have one, in bytes per second."""
    found = [value for row in rows for half in row.halves if (value := row.busbw(half)) is not None]
    return sum(found) / len(found) if found else None


def _number(value: float, width: int) -> str:
    """With two decimals, or fewer where the width is too small for them."""
    texts = (f"{value:.{decimals}f}" for decimals in (2, 1, 0))
    return next((text for text in texts if len(text) <= width), f"{value:.0f}")


def _head(request: PerfRequest, scenario: Scenario, protocol: str, rows: Sequence[BandwidthRow]) -> Iterator[str]:
    sizes, step = request.sizes, f"{request.factor}(factor)" if request.factor else f"{request.step}(bytes)"
    counts = {size: request.counts(size, scenario.world) for size in sizes}
    measured, warmup = max(counts.values())
    yield f"# ina-testbed {__version__} (tb perf); columns of nccl-tests"
    yield f"# Collective test starting: {program_of(request)}"
    yield (
        f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} step: {step} warmup iters: {warmup} "
        f"iters: {measured} agg iters: 1 validation: 1 graph: 0"
    )
    fewer = next((size for size in sizes if counts[size] != (measured, warmup)), None)
    if fewer is not None:
        yield f"# from size {fewer}: fewer iterations, at least 1 without warmup (-n and -w set them)"
    ranks = max(row.ranks for row in rows)
    rate = min(link.shape.rate_bps for link in scenario.topology.links)
    yield (
        f"# Protocol {protocol}, {ranks or _UNKNOWN} ranks, scenario {scenario.name}, world {scenario.world}, "
        f"seed {scenario.seed}, slowest link {format_rate(rate)}, path_mtu {request.path_mtu(scenario, protocol)}"
    )
    yield "#"
    yield "#" + " " * 53 + f"{'out-of-place':>22}{'':13}{'in-place':>12}"
    half = [("time", "algbw", "busbw", "#wrong"), ("(us)", "(GB/s)", "(GB/s)", "")]
    front = [("size", "count", "type", "redop", "root"), ("(B)", "(elements)", "", "", "")]
    for first, second in zip(front, half, strict=True):
        yield "#" + _FRONT.format(*first)[1:] + 2 * _HALF.format(*second)


def _half(row: BandwidthRow, half: MeasuredBandwidth) -> str:
    algbw, busbw = row.algbw(half), row.busbw(half)
    wrong = "0" if half.is_exact else _UNKNOWN
    if half.times is None or algbw is None or busbw is None:
        return _HALF.format(_UNKNOWN, _UNKNOWN, _UNKNOWN, wrong)
    return _HALF.format(_number(1e6 * half.times.mean_s, 7), _number(algbw / 1e9, 6), _number(busbw / 1e9, 6), wrong)


def _wire(rows: Sequence[BandwidthRow]) -> Iterator[str]:
    yield "# Bytes of whole frames per iteration: sent and received by a rank, and on the busiest link"
    yield "#" + " " * 11 + f"{_HALVES[0]:>38}{'':26}{_HALVES[1]:>38}"
    names = _WIRE.format("sent", "received", "busiest", "util%", "link")
    yield ("# " + f"{'size':>10}" + names + names).rstrip()
    for row in rows:
        yield (f"# {row.size:>10}" + "".join(map(_wire_half, row.halves))).rstrip()


def _wire_half(half: MeasuredBandwidth) -> str:
    names = ("wire.sent_per_rank_bytes", "wire.received_per_rank_bytes", "busiest_link.bytes")
    counted = (half.per_iteration(name) for name in names)
    share = half.figures.get("busiest_link.utilisation")
    return _WIRE.format(
        *(_UNKNOWN if value is None else f"{value:.0f}" for value in counted),
        _UNKNOWN if share is None else f"{100 * share:.1f}",
        half.link,
    )


def _latency(rows: Sequence[BandwidthRow]) -> Iterator[str]:
    yield "#"
    yield "# Time of an iteration (us)"
    yield "#" + " " * 11 + f"{_HALVES[0]:>30}{'':18}{_HALVES[1]:>32}"
    names = _LATENCY.format("min", *(f"p{percent}" for percent in _PERCENTS), "max")
    yield "# " + f"{'size':>10}" + names + names
    for row in rows:
        yield f"# {row.size:>10}" + "".join(map(_latency_half, row.halves))


def _latency_half(half: MeasuredBandwidth) -> str:
    if half.times is None:
        return _LATENCY.format(*[_UNKNOWN] * 5)
    times = half.times
    found = (min(times.each_s), *(times.percentile_s(percent) for percent in _PERCENTS), max(times.each_s))
    return _LATENCY.format(*(_number(1e6 * value, 8) for value in found))


def _remarks(rows: Sequence[BandwidthRow]) -> Iterator[str]:
    """Reasons of what was not measured, and of runs that did not pass, each once."""
    reasons = dict[str, list[str]]()
    for row in rows:
        for name, half in zip(_HALVES, row.halves, strict=True):
            if half.reason:
                reasons.setdefault(f"{half.verdict or 'not run'}: {half.reason}", []).append(f"{row.size} {name}")
    for reason, places in reasons.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield f"# {places[0]}{more}: {' '.join(reason.split())}"

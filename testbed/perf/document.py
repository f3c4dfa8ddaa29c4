"""The JSON of nccl-tests (version 3), with our figures under keys of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from testbed import __version__
from testbed.perf.request import PerfRequest
from testbed.perf.rows import BandwidthRow, MeasuredBandwidth, Times
from testbed.perf.table import average_busbw, program_of, redop_and_root, wrong_halves
from testbed.scenario import Scenario

__all__ = ["perf_json"]

_VERSION = 3


def perf_json(
    request: PerfRequest, scenario: Scenario, tables: Mapping[str, Sequence[BandwidthRow]], *, args: Sequence[str],
    began: str, ended: str,
) -> str:  # fmt: skip
    """Of the tables by protocol. `began`, `ended`: times as text."""
    rows = [row for table in tables.values() for row in table]
    measured, warmup = max(request.counts(size, scenario.world) for size in request.sizes)
    document = {
        "version": _VERSION,
        "start_time": began,
        "args": list(args),
        "env": [],
        "nccl_version": None,
        "ina_testbed_version": __version__,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "minimum_bytes": request.sizes[0],
            "maximum_bytes": request.sizes[-1],
            **({"step_factor": request.factor} if request.factor else {"step_bytes": request.step}),
            "warmup_iters": warmup,
            "iterations": measured,
            "aggregated_iterations": 1,
            "validation": 1,
            "graph": 0,
            "scenario": scenario.name,
            "world": scenario.world,
            "seed": scenario.seed,
            "path_mtu": {protocol: request.path_mtu(scenario, protocol) for protocol in tables},
        },
        "results": [_result(request, row) for row in rows],
        **_footers(rows),
        "protocols": {protocol: _footers(table) for protocol, table in tables.items()},
        "end_time": ended,
        "errors": sorted({half.reason for row in rows for half in row.halves if half.reason}),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _footers(rows: Sequence[BandwidthRow]) -> dict[str, Any]:
    wrong, average = wrong_halves(rows), average_busbw(rows)
    return {
        "out_of_bounds": {"count": wrong, "okay": not wrong},
        "average_bus_bandwidth": {"bandwidth": None if average is None else average / 1e9, "okay": "unchecked"},
    }


def _result(request: PerfRequest, row: BandwidthRow) -> dict[str, Any]:
    redop, root = redop_and_root(request)
    result: dict[str, Any] = {
        "size": row.size, "count": row.count, "type": request.dtype, "redop": redop, "root": str(root),
        "out_of_place": _half(row, row.out_of_place),
        "in_place": _half(row, row.in_place),
    }  # fmt: skip
    for name, half in (("out_of_place", row.out_of_place), ("in_place", row.in_place)):
        if half.times is not None:
            result[f"{name}_per_iter"] = _per_iteration(half.times)
        result[f"{name}_run"] = {
            "verdict": half.verdict or None, "reason": half.reason, "iterations": half.iterations,
            "busiest_link": half.link or None, "figures": dict(half.figures),
        }  # fmt: skip
    times = row.out_of_place.times or row.in_place.times
    return result | {
        "actual_iterations": 0 if times is None else len(times.each_s),
        "experiment_name": program_of(request),
        "protocol": row.protocol,
        "ranks": row.ranks,
    }


def _half(row: BandwidthRow, half: MeasuredBandwidth) -> dict[str, float | None] | None:
    algbw, busbw = row.algbw(half), row.busbw(half)
    if half.times is None or algbw is None or busbw is None:
        return None
    wrong = 0.0 if half.is_exact else None
    return {"time": 1e6 * half.times.mean_s, "alg_bw": algbw / 1e9, "bus_bw": busbw / 1e9, "nwrong": wrong}


def _per_iteration(times: Times) -> dict[str, Any]:
    mean = times.mean_s
    deviation = (sum((each - mean) ** 2 for each in times.each_s) / len(times.each_s)) ** 0.5
    return {
        "min_us": 1e6 * min(times.each_s),
        "max_us": 1e6 * max(times.each_s),
        "avg_us": 1e6 * mean,
        **{f"p{percent}_us": 1e6 * times.percentile_s(percent) for percent in (50, 95, 99)},
        "stdev_us": 1e6 * deviation,
        "cv_pct": 100 * deviation / mean,
        "times_us": [1e6 * each for each in times.each_s],
    }

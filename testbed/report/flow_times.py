"""RDMA flows, and the congestion control that they use, as lines of the summary."""

from __future__ import annotations

from typing import Any

from testbed.report.lines import Line
from testbed.terminal.numbers import bits_per_second, byte_size, seconds
from testbed.terminal.words import amount

__all__ = ["dcqcn_text", "flow_lines"]

_COLUMNS = ("average", "p50", "p95", "p99", "p999")
_HEADS = ("average", "median", "p95", "p99", "p99.9")
_WIDTH = 10
_NAMES = {
    "to_1kB": "up to 1 kB", "to_10kB": "up to 10 kB", "to_100kB": "up to 100 kB", "to_1MB": "up to 1 MB",
    "above_1MB": "above 1 MB",
}  # fmt: skip
_MUCH = 1 << 30


def flow_lines(metrics: dict[str, Any]) -> list[Line]:
    """`metrics`: of result.json. Empty where no flows are measured."""
    found = metrics.get("rdma_flows")
    if found is None:
        return []
    counts = f"{amount(found['begun'], 'flow')} of {found['planned']:,} began, {found['unfinished']:,} did not end"
    lines = [Line(""), Line("Flows", "head"), Line(f"{counts}; {found['measured']:,} measured", "", 2)]
    if found["wire_load"] is not None:
        text = f"load of the senders' links: {found['wire_load']:.1%} by frames, {found['payload_load']:.1%} by payload"
        lines.append(Line(text, "", 2))
    if not found["measured"]:
        return lines
    width = max(map(len, _NAMES.values())) + 2
    lines.append(Line(_cells(_HEADS, "number"), "dim", 2, "", width))
    lines += [_row("FCT, all", found, "fct_s", width), _row("slowdown", found, "slowdown", width)]
    lines += [_row(_NAMES[name], each, "slowdown", width) for name, each in found["bins"].items()]
    return lines


def _row(name: str, found: dict[str, Any], what: str, width: int) -> Line:
    shown = [_value(found[what][column], what) for column in _COLUMNS]
    return Line(_cells(shown, f"{found['number']:,}"), "", 2, name, width)


def _cells(texts: Any, flows: str) -> str:
    return "".join(f"{text:>{_WIDTH}}" for text in (*texts, flows))


def _value(value: float | None, what: str) -> str:
    if value is None:
        return "no end"
    return seconds(value) if what == "fct_s" else f"{value:.2f}"


def dcqcn_text(found: dict[str, Any]) -> str:
    """The parameters in use: `parameters` of the figures of congestion."""
    counter = found["byte_counter_bytes"]
    timer, alpha, interval = (
        seconds(found[name] / 1e9) for name in ("increase_timer_ns", "alpha_timer_ns", "cnp_interval_ns")
    )
    return (
        f"DCQCN parameters ({found['preset']}): timer {timer}, alpha timer {alpha}, CNP interval {interval}, byte "
        f"counter {byte_size(counter) if counter < _MUCH else 'none'}, F {found['recovery_steps']}, "
        f"g 1/{round(1 / found['gain'])}, increase {bits_per_second(found['additive_bps'])} and "
        f"{bits_per_second(found['hyper_bps'])}"
    )

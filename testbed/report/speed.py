"""What qualifies the speed of a run: timers that took much of it, or why it is unknown."""

from __future__ import annotations

from typing import Any

from testbed.figures.timers import MUCH
from testbed.report.lines import Line
from testbed.scenario.protocols.names import MOST_DILATION
from testbed.terminal.numbers import seconds

__all__ = ["unknown_speed", "waited"]


def waited(result: dict[str, Any]) -> list[Line]:
    """That timers took much of the time, and what to change."""
    jct = result["metrics"].get("jct", {})
    known = jct.get("parts")
    share, waited_s = jct.get("timers"), jct.get("timers_s")
    if known is not None:  # exact; else there is an upper bound
        share, waited_s = known["timers"], known["timers"] * result["metrics"]["jct_s"]
    if share is None or share <= MUCH:
        return []
    parts = result.get("timers", [])
    each = [(key, timer) for part in parts for key, timer in part["each"].items() if timer["ns"]]
    named = ", ".join(f"{key} {timer['shown']}{' (auto)' if timer['auto'] else ''}" for key, timer in each)
    fixed = [f"transport.{key}: auto" for key, timer in each if not timer["auto"]]
    advice = [*fixed, *(["transport.recovery: irn"] if "gbn" in result["recoveries"] else [])]
    way = (
        f"set {' or '.join(dict.fromkeys(advice))}"
        if advice
        else "a longer job or fewer losses make their share smaller"
    )
    trips = ", ".join(seconds(part["worst_round_trip_ns"] / 1e9) for part in parts)
    return [
        Line(
            f"timers took {'' if known else 'at most '}{share:.0%} of that ({seconds(waited_s)}): hosts waited for "
            f"{named}; the worst queueing round trip is {trips}; {way}",
            "unknown",
            2,
        )
    ]


def unknown_speed(result: dict[str, Any]) -> list[Line]:
    """No figure, why there is none, and the command that may give one."""
    lines = [Line("completion time and goodput: unknown (the checks below judge the sums all the same)", "unknown", 2)]
    lines += [Line(reason, "unknown", 4) for reason in result["fidelity"]["reasons"][:6]]
    command = _better_setting(result)
    return [*lines, Line(f"to repeat it with a better setting: {command}", "", 2)] if command else lines


def _better_setting(result: dict[str, Any]) -> str:
    """The command that repeats an emulated run more slowly; empty where time cannot be slowed, as in a training."""
    dilation, replay = result.get("dilation"), result["replay"]
    if dilation is None or not replay.startswith("tb run ") or " --card " in replay:
        return ""
    factor = min(2 * dilation["factor"], MOST_DILATION) if dilation["tried"] else "auto"
    return f"{replay} --dilation {factor}"

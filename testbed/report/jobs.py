"""Jobs and the memory of switches, as lines of the summary."""

from __future__ import annotations

from typing import Any

from testbed.report.lines import Line
from testbed.terminal.numbers import bits_per_second, byte_size, seconds
from testbed.terminal.words import amount

__all__ = ["job_lines"]


def job_lines(metrics: dict[str, Any]) -> list[Line]:
    """`metrics`: of result.json. Empty where no switch serves jobs and there is one protocol."""
    found = metrics.get("jobs")
    if found is None:
        return []
    is_known = metrics["unreliable"] is None
    lines = [Line(""), Line("Jobs", "head")]
    if found["average_jct_s"] is not None and len(found["each"]) > 1:
        text = (
            f"average completion time {seconds(found['average_jct_s'])}, 95th percentile "
            f"{seconds(found['p95_jct_s'])}, last job done after {seconds(found['makespan_s'])}"
        )
        lines.append(Line(text, "", 2))
    memory = f"switch memory of {amount(found['memory_values'], 'value')}"
    if not is_known:
        lines.append(Line("times, goodputs and the use of switch memory: unknown, as above", "unknown", 2))
    elif found["memory_values"] and found["busy"] is None:
        lines.append(Line(f"{memory}: how long it was in use is not known", "", 2))
    elif found["memory_values"]:
        useful = "" if found["useful"] is None else f", usefully {found['useful']:.1%}"
        lines.append(Line(f"{memory}: busy {found['busy']:.1%} of the time{useful}", "", 2))
    width = max(len(job["name"]) for job in found["each"]) + 2
    return lines + [Line(_job(job, is_known), "", 2, job["name"], width) for job in found["each"]]


def _job(job: dict[str, Any], is_known: bool) -> str:
    parts = ["did not complete" if is_known else "time unknown"]
    if job["jct_s"] is not None:
        parts = [f"{seconds(job['jct_s'])}", f"{seconds(job['jct_s'] / len(job['iterations_s']))} per iteration"]
        if job["goodput_bps"] is not None:
            parts.append(f"{bits_per_second(job['goodput_bps'])} of gradient per worker")
    if job["arrival_s"]:
        parts.append(f"from {seconds(job['arrival_s'])} on")
    for key, noun in (("collisions", "collision"), ("evictions", "eviction"), ("reminders", "reminder")):
        if job[key]:
            parts.append(amount(job[key], noun))
    if job["resends"]:
        parts.append(f"{amount(job['resends'], 'packet')} sent again")
    if job["server_bytes"] is not None:
        parts.append(f"{byte_size(job['server_bytes'])} into its server")
        if job["switch_completed"] is not None:
            parts.append(f"{job['switch_completed']:.1%} of its blocks complete in a switch")
    return ", ".join(parts)

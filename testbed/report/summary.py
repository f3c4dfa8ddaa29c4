"""The summary of a run as lines of styled text: one content for terminals, plain text and HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed.checkers.refused import refused_text
from testbed.report.flow_times import dcqcn_text, flow_lines
from testbed.report.jobs import job_lines
from testbed.report.lines import Line
from testbed.report.parts import parts_line
from testbed.report.pauses import pfc_texts
from testbed.report.routes import route_lines
from testbed.report.speed import unknown_speed, waited
from testbed.report.traces import trace_lines
from testbed.report.witnesses import exact_words, slower_code
from testbed.terminal.folding import joined
from testbed.terminal.numbers import bits_per_second, byte_size, seconds
from testbed.terminal.words import amount, times
from workloads.native.account import NATIVE

__all__ = ["Line", "amount", "bits_per_second", "byte_size", "summary_lines"]


def summary_lines(result: dict[str, Any]) -> list[Line]:
    """`result`: the document of result.json."""
    return [
        *_what(result),
        *_faults(result),
        *_recovery(result),
        *_speed(result),
        *flow_lines(result["metrics"]),
        *job_lines(result["metrics"]),
        *route_lines(result["metrics"]),
        *_tenants(result),
        *_checks(result),
        *_verdict(result),
    ]


def _what(result: dict[str, Any]) -> list[Line]:
    metrics = result["metrics"]
    lines = [
        Line(
            f"{result['scenario']}: {amount(result['hosts'], 'host')}, {result['protocol']}, {result['world']} "
            "world, "
            f"seed {result['seed']}",
            "title",
        )
    ]
    if result["description"]:
        lines += [Line(text, "", 2) for text in joined(result["description"].strip())]
    iterations = metrics["iterations_s"] or (metrics["unreliable"] or {}).get("iterations_s") or []
    done = sum(time is not None for time in iterations)
    if metrics["gradient_bytes"]:
        lines.append(
            Line(
                f"{_whose(metrics)} {byte_size(metrics['gradient_bytes'])}; {done} of "
                f"{amount(len(iterations), 'iteration')} done",
                "",
                2,
            )
        )
    lines += _code(result["environment"])
    training = metrics["training"]
    if training is not None and training["accuracy"] is not None:
        lines.append(
            Line(f"the model classifies {training['accuracy']:.1%} of the images that it never saw correctly", "", 2)
        )
    return lines


def _code(environment: dict[str, str]) -> Iterator[Line]:
    """What a reader of figures has to know of the code; nothing where it was the C core everywhere."""
    code, version = environment.get("code"), environment.get("host_version", "")
    if code is None:
        yield Line("code that ran: not recorded, so speeds may be those of the Python reference", "unknown", 2)
    elif code != NATIVE:
        yield Line(f"code that ran: {slower_code(environment)}", "unknown", 2)
    if ": " in version:
        yield Line(f"hosts ran different versions: {version}", "unknown", 2)


def _whose(metrics: dict[str, Any]) -> str:
    sizes = {job["gradient_bytes"] for job in (metrics.get("jobs") or {"each": ()})["each"]}
    return "each worker's gradient has" if len(sizes) < 2 else "gradients have up to"


def _faults(result: dict[str, Any]) -> list[Line]:
    if not result["faults"]:
        return [Line(""), Line("Faults", "head"), Line("none asked for", "", 2)]
    lines = [Line(""), Line("Faults", "head")]
    width = max(len(fault["name"]) for fault in result["faults"]) + 2
    for fault in result["faults"]:
        targets = ", ".join(f"{name} {times(count)}" for name, count in list(fault["targets"].items())[:8])
        more = len(fault["targets"]) - 8
        by = fault["backend"].split(",")
        text = f"hit {amount(fault['strikes'], 'time')}" if fault["strikes"] else "never hit"
        text += " by eBPF in the kernel" if "ebpf" in by else ""
        if "netem" in by:
            text = "applied by netem in the kernel, which reports no hits"
        text += f" ({targets}{f' and {more} more' if more > 0 else ''})" if targets else ""
        silent = fault.get("silent", False)
        text += ", as its rate of 0 says" if silent and not fault["strikes"] else ""
        text = f"{_share(fault['rate'])} of packets: {text}" if 0 < (fault.get("rate") or 0) < 1 else text
        lines.append(
            Line(text + _times(fault), "" if fault["strikes"] or silent else "unknown", 2, fault["name"], width)
        )
    return lines


def _share(rate: float) -> str:
    return f"{100 * rate:.3g} %"


def _times(fault: dict[str, Any]) -> str:
    """When it acted, and when it had hits, where it has an end: a link that is down drops what comes by in that
    time."""
    windows, struck = fault.get("active_s"), fault.get("struck_s")
    if not windows or struck is None:
        return ""
    when = f"{seconds(windows[0][0])} to {seconds(windows[0][1])}"
    if len(windows) > 1:
        when += f", {amount(len(windows), 'time')} until {seconds(windows[-1][1])}"
    at = f"at {seconds(struck[0])}" if struck[0] == struck[1] else f"from {seconds(struck[0])} to {seconds(struck[1])}"
    return f"; active {when}, hits {at}"


def _recovery(result: dict[str, Any]) -> list[Line]:
    metrics = result["metrics"]
    lost, again = metrics["lost"], metrics["retransmissions"]
    total = sum(lost.values())
    datagrams = not metrics["reliable"]
    carried = _CARRIED | ({"answers": "with a NACK, a reminder or a rate"} if datagrams else {})
    lines = [Line(""), Line("Lost and recovered", "head")]
    if total:
        lines.append(
            Line(
                f"{amount(total, 'packet')} lost: "
                + ", ".join(f"{lost[kind]:,} {carried[kind]}" for kind in carried if lost.get(kind)),
                "",
                2,
            )
        )
        good, distinct = metrics["recovered_packets"], metrics["lost_data_packets"]
        if datagrams:
            done = [check["verdict"] for check in result["checks"] if check["name"] == "liveness"] == ["pass"]
            approximate = any(item["name"] == "bit_exact" for item in result["skipped"])
            part = "what they still wanted of the lost packets" if approximate else "what the lost packets carried"
            text = f"the receivers got {'' if done else 'not all of '}{part}"
            lines.append(Line(text, "", 2))
        elif distinct:
            verb = "was" if distinct == 1 else "were"
            text = f"{good:,} of {amount(distinct, 'lost data packet')} {verb} retransmitted and delivered"
            twice = lost["data"] - distinct
            text += (
                f"; {twice:,} of the retransmitted packets {'was' if twice == 1 else 'were'} lost too" if twice else ""
            )
            lines.append(Line(text, "", 2))
    queues = metrics.get("queues") or {"dropped": 0, "trimmed": 0}
    if queues["dropped"] or queues["trimmed"]:
        lines.append(Line(_of_queues(queues), "", 2))
    pfc = metrics.get("pfc") or {"dropped_by_buffers": 0}
    lines += [Line(text, "", 2) for text in pfc_texts(pfc)]
    if queues.get("early"):
        lines.append(Line(_of_classes(queues), "", 2))
    elif not total and not (queues["dropped"] or queues["trimmed"] or pfc["dropped_by_buffers"]):
        lines.append(Line("no packet was lost", "", 2))
    backs = ", ".join(f"{count:,} {_CAUSES.get(cause, cause)}" for cause, count in again["by_cause"].items())
    if backs:
        share = ""
        if again["packets"] is not None and again["of_packets_sent"]:
            share = f"; {again['packets']:,} of {again['of_packets_sent']:,} packets were sent again"
        goes_back = result["recoveries"] == ["gbn"]
        lines.append(Line(f"{'senders went back' if goes_back else 'sent again'}: {backs}{share}", "", 2))
        lines += _go_back_n(again, lost) if goes_back else []
    switch = []
    if metrics["replayed_results"]:
        switch.append(f"repeated {amount(metrics['replayed_results'], 'result')} from its slots")
    if metrics["inferred_messages"]:
        switch.append(f"placed {amount(metrics['inferred_messages'], 'message')} whose first packet was lost")
    ignored = sum(metrics["ignored_packets"].values())
    if ignored:
        reasons = ", ".join(
            f"{count:,} {_KEPT_OUT.get(reason, reason)}" for reason, count in metrics["ignored_packets"].items()
        )
        switch.append(f"kept {amount(ignored, 'packet')} out of the sums ({reasons})")
    if switch:
        lines.append(Line(f"the switch {'; '.join(switch)}", "", 2))
    if metrics["refused_results"]:
        lines.append(Line(refused_text(metrics["refused_results"]), "unknown", 2))
    return lines


def _of_queues(queues: dict[str, Any]) -> str:
    """What full queues did, and which of them most of it."""
    links = sorted(queues["links"].items(), key=lambda item: -sum(item[1].values()))[:3]
    which = ", ".join(f"{name} {sum(counts.values()):,}" for name, counts in links)
    losses = [f"{verb} {amount(queues[verb], 'packet')}" for verb in ("trimmed", "dropped") if queues[verb]]
    return f"full queues {' and '.join(losses)} (most: {which})"


def _of_classes(queues: dict[str, Any]) -> str:
    """What queues with room dropped for its class, and which of them most of it."""
    early = {name: sum(each["early"] for each in counts.values()) for name, counts in queues["by_dscp"].items()}
    most = sorted(early.items(), key=lambda item: -item[1])[:3]
    which = ", ".join(f"{name} {count:,}" for name, count in most)
    return f"queues with room dropped {amount(queues['early'], 'packet')} of the low class early (most: {which})"


_CARRIED = {"data": "with data", "results": "with a result", "answers": "with an ACK or NAK", "other": "other"}
_CAUSES = {
    "nak": "after a NAK", "nack": "after a NACK", "timeout": "after a timeout",
    "rnr": "after a receiver was not ready", "gap": "after a gap", "trimmed": "that came trimmed",
    "rate": "after a switch had no capacity", "replanned": "after a new plan",
}  # fmt: skip
"""why packets were sent again"""
_KEPT_OUT = {
    "duplicate": "duplicates", "nofirst": "of messages whose first packet was lost", "stale": "of older messages",
    "stale_forwarded": "of older messages, passed on", "overrun": "of messages too far ahead", "icrc": "damaged",
    "mismatch": "repeated with another payload", "length": "of a wrong length", "wrong_port": "from a wrong port",
    "overlap": "that were inside already", "gap": "after a gap",
    "inconsistent_first": "that contradict their ring", "ahead": "ahead of their turn",
}  # fmt: skip
"""reasons of PacketIgnored in words"""
_WORTH_TELLING = 2, 0.05
"""packets sent again for each lost one, and of all"""


def _go_back_n(again: dict[str, Any], lost: dict[str, int]) -> list[Line]:
    """Why so much more is sent again than was lost."""
    gone, packets = sum(lost.values()), again["packets"]
    if not gone or not packets:
        return []
    each, share = packets / gone, packets / again["of_packets_sent"]
    if each < _WORTH_TELLING[0] or share < _WORTH_TELLING[1]:
        return []
    return [
        Line(
            "go-back-N resends a lost packet and all packets after it: "
            f"{amount(gone, 'lost packet')} "
            f"had {share:.0%} of all packets sent again, {each:.1f} for each lost one",
            "",
            2,
        )
    ]


def _speed(result: dict[str, Any]) -> list[Line]:
    metrics = result["metrics"]
    lines = [Line(""), Line("Speed", "head"), *_time(result)]
    bound = metrics["bound_bps"]
    several = (metrics.get("jobs") or {"each": ()})["each"]
    if (metrics["unreliable"] or metrics)["jct_s"] is None:
        lines.append(Line("not every job completed" if len(several) > 1 else "the job did not complete", "", 2))
    if metrics["unreliable"] is not None:
        return lines + unknown_speed(result)
    if metrics["jct_s"] is not None and metrics["goodput_bps"] is None and len(several) > 1:
        lines.append(Line(f"the last job completed after {seconds(metrics['jct_s'])}", "", 2))
    elif metrics["jct_s"] is not None and metrics["goodput_bps"] is not None and bound:
        lines.append(
            Line(
                f"job completed in {seconds(metrics['jct_s'])}; goodput {bits_per_second(metrics['goodput_bps'])} of "
                f"gradient per worker, the links' bound is {bits_per_second(bound)} "
                f"({metrics['goodput_bps'] / bound:.1%})",
                "",
                2,
            )
        )
    lines += parts_line(result)
    lines += trace_lines(metrics)
    lines += waited(result)
    lines += _beside(result)
    lines.append(Line(result["fidelity"]["detail"], "dim", 2))
    return lines


def _time(result: dict[str, Any]) -> list[Line]:
    """How slowly emulated time passed."""
    dilation = result.get("dilation")
    if dilation is None or (dilation["factor"] == 1 and not dilation["tried"]):
        return []
    text = (
        f"in emulated time: a second of it took {amount(dilation['factor'], 'real second')} (dilation "
        f"{dilation['factor']})"
    )
    if dilation["tried"]:
        text += f"; the machine had too little CPU time at {', '.join(map(str, dilation['tried']))}"
    return [
        Line(text, "", 2),
        *(Line(f"not dilated: {item}", "unknown", 2) for item in dilation["not_dilated"]),
    ]


def _beside(result: dict[str, Any]) -> list[Line]:
    """The same plan in virtual time."""
    twin = result.get("twin")
    if twin is None or twin["left_out"] or not twin["jct_s"] or twin["own_jct_s"] is None:
        return []
    low, high = twin["jct_s"][0], twin["jct_s"][-1]
    beside = seconds(low) if twin["runs"] == 1 else f"{seconds(low)} to {seconds(high)} in {twin['runs']} runs"
    off = "" if twin["deviation"] is None else f", {twin['deviation']:+.1%}"
    return [Line(f"the same run in virtual time: {beside}{off}; it took {seconds(twin['took_s'])} to run", "", 2)]


def _tenants(result: dict[str, Any]) -> list[Line]:
    """Congestion control and background flows, where the scenario has any."""
    metrics = result["metrics"]
    found, flows = metrics.get("congestion"), metrics.get("background")
    lines = [Line(""), Line("Congestion", "head")] if found or flows else []
    if found:
        lines.append(
            Line(
                f"{amount(found['ce_marks'], 'packet')} marked, {amount(found['cnps_sent'], 'CNP')} sent, rates cut "
                f"{amount(found['rate_cuts'], 'time')}",
                "",
                2,
            )
        )
        if found["parameters"] is not None:
            lines.append(Line(dcqcn_text(found["parameters"]), "", 2))
        slowed = {name: rate for name, rate in found["rates"].items() if rate["min_bps"] < rate["line_bps"]}
        for name, rate in list(slowed.items())[:8]:
            text = f"{bits_per_second(rate['mean_bps'])} on average, {bits_per_second(rate['min_bps'])} at least, of "
            lines.append(Line(f"{text}{bits_per_second(rate['line_bps'])}", "", 2, name, 8))
    for flow in flows or ():
        goodput = "no goodput" if flow["goodput_bps"] is None else f"goodput {bits_per_second(flow['goodput_bps'])}"
        if flow["offered_bps"] is not None:
            goodput += f" of {bits_per_second(flow['offered_bps'])}"
        text = f"{flow['kind'].upper()} {flow['from']} to {flow['to']}: {goodput}"
        for key, noun in (("missing_packets", "packet"), ("retransmits", "segment")):
            if flow[key]:
                text += f", {amount(flow[key], noun)} {'missing' if key == 'missing_packets' else 'sent again'}"
        lines.append(Line(f"{text}; {flow['trouble']}" if flow["trouble"] else text, "", 2, flow["name"], 12))
    return lines


def _checks(result: dict[str, Any]) -> list[Line]:
    lines = [Line(""), Line("Checks", "head")]
    unseen = _unseen(result)
    names = [item["name"] for item in (*result["checks"], *result["skipped"])]
    width = max((len(name) for name in names), default=0) + 11
    for check in result["checks"]:
        label = f"{check['verdict'].upper():9}{check['name']}"
        lines.append(Line(check["detail"], check["verdict"], 2, label, width))
        if check["verdict"] != "pass":
            shown = [text for text in check["evidence"] if text not in check["detail"]]
            lines += [Line(text, "dim", 4 + width) for text in shown[:6]]
        lines += [Line(f"not seen: {text}", "unknown", 4 + width) for text in unseen.get(check["name"], ())]
    lines += [Line(item["reason"], "skipped", 2, f"{'SKIPPED':9}{item['name']}", width) for item in result["skipped"]]
    return lines


def _unseen(result: dict[str, Any]) -> dict[str, list[str]]:
    """What the world could not show to the checkers, by check."""
    found: dict[str, list[str]] = {}
    for item in result.get("not_seen", ()):
        found.setdefault(item["name"], []).append(item["reason"])
    return found


_MEANING = {
    "pass": "every check passed",
    "fail": "at least one check found a violation",
    "unknown": "no violation was found, but something could not be judged",
}


def _verdict(result: dict[str, Any]) -> list[Line]:
    verdict = result["verdict"]
    exact = any(check["name"] == "bit_exact" and check["verdict"] == "pass" for check in result["checks"])
    meaning = _MEANING[verdict]
    if verdict == "pass" and exact:
        meaning = exact_words(result.get("reference"))
    elif approximate := [item["reason"] for item in result["skipped"] if item["name"] == "bit_exact"]:
        meaning += f"; {approximate[0]}"
    failed = [check["name"] for check in result["checks"] if check["verdict"] == verdict]
    if verdict != "pass" and failed:
        meaning += f" ({', '.join(failed)})"
    if unseen := _unseen(result):
        meaning += f"; this world shows only a part of: {', '.join(unseen)}"
    lines = [Line(""), Line(meaning, verdict, 0, f"Verdict: {verdict.upper()}", 18)]
    if verdict != "pass":
        if verdict == result["expect"]:
            lines.append(Line("this is what the scenario is made to show", "dim", 2))
        lines.append(Line(f"replay: {result['replay']}", "", 2))
    elif result["expect"] not in ("", verdict):
        lines.append(Line(f"the scenario was made to show {result['expect']}", "unknown", 2))
    return lines

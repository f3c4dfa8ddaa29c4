"""Nobody sends past the credit window: a message leaves only when it is fewer than N beyond what came back."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.faults.model import Corrupt, Forge, Kill
from testbed.verdict import CheckResult, Verdict

__all__ = ["credit_bound"]

_SHOWN = 8


def credit_bound(context: CheckContext) -> CheckResult:
    """Message m may be posted iff m < N + min(received, acked), counted from what each worker told before (protocol text,
    section 8); with `credit: received` or `acked` that term alone counts. With a hello nothing else goes before its
    result is back. The switch's own opinion: no packet was an `overrun`, unless it started anew without memory or a fault
    forged packets."""
    collective = context.plan.ring_workers[0].collective
    window = collective.window_messages
    received = dict.fromkeys(context.workers, 0)
    acked = dict.fromkeys(context.workers, 0)
    posted = dict.fromkeys(context.workers, 0)
    wrong, most, total = [], 0, 0
    for record in context.history:
        node, event = record["node"], record["event"]
        if event == "MessageReceived" and node in received:
            received[node] += 1
        elif event == "MessageAcked" and node in acked:
            acked[node] += 1
        elif event == "NodeExited" and node in posted:  # one that starts anew starts from nothing
            received[node] = acked[node] = posted[node] = 0
        elif event == "MessagePosted" and node in posted:
            total += 1
            message = record["message"]
            credit = {"received": received[node], "acked": acked[node]}.get(
                collective.credit, min(received[node], acked[node])
            )
            most = max(most, message + 1 - credit)
            counts = f"{received[node]} results received and {acked[node]} messages acknowledged"
            if message != posted[node]:
                wrong.append(f"{node} posted message {message} after {posted[node]} messages: not in order")
            if message >= window + credit:
                wrong.append(f"{node} posted message {message} with {counts}: the window is {window}")
            if collective.hello and message and not received[node]:
                wrong.append(f"{node} posted message {message} before the result of the hello")
            posted[node] = message + 1
    faults = context.plan.scenario.faults
    forgetful = {fault.node for fault in faults if isinstance(fault, Kill)}
    forged = any(isinstance(fault, Forge) or (isinstance(fault, Corrupt) and fault.repair_icrc) for fault in faults)
    overruns = [
        record
        for record in context.events("PacketIgnored")
        if record["reason"] == "overrun" and record["node"] not in forgetful and not forged
    ]
    wrong += [
        f"{record['node']} got a packet of message {record['message']} of rank {record['rank']} with no slot free for it"
        for record in overruns
    ]
    if wrong:
        detail = f"{len(wrong)} violation{'s' if len(wrong) > 1 else ''}; first: {wrong[0]}"
        return CheckResult("credit_bound", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    if not total:
        return CheckResult("credit_bound", Verdict.UNKNOWN, "no worker told that it posted a message")
    detail = f"{total} messages posted, never more than {most} of {window} in flight per worker"
    return CheckResult("credit_bound", Verdict.PASS, detail)

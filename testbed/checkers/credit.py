"""No host sends past the credit window: a message leaves only when it is fewer than N beyond what came back."""

from __future__ import annotations

from collections.abc import Iterator

from switch_nodes.events import PacketIgnored
from testbed.checkers.context import CheckContext
from testbed.faults.model import Corrupt, Forge, Kill
from testbed.history import of_kinds
from testbed.history.events import NodeExited
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import violations
from workloads.collectives.kinds import ring_kind
from workloads.config import WorkerConfig
from workloads.events import MessageAcked, MessagePosted, MessageReceived

__all__ = ["credit_bound"]

_SHOWN = 8


def credit_bound(context: CheckContext) -> CheckResult:
    """Message m may be posted iff m < N + min(received, acked), counted from what each worker reported before (protocol
    text, section 8).

    With `credit: received` or `acked` that term alone counts. With a hello nothing else goes before its result is back.
    The switch must agree: no packet was an `overrun`, unless the switch restarted without memory or a fault forged
    packets. A job that fell back to a ring is judged as far as it came before.
    """
    accounts = {
        (part.name, part.collective.phase): _Account(part)
        for worker in context.plan.ring_workers
        for part in worker.parts
        if ring_kind(part.collective.kind).in_messages
    }
    wrong: list[str] = []
    for record in of_kinds(context.first_life, NodeExited, MessagePosted, MessageAcked, MessageReceived):
        if isinstance(record.event, NodeExited):  # one that starts anew starts from nothing
            for (name, _), account in accounts.items():
                if name == record.node:
                    account.forget()
            continue
        event = record.event
        if isinstance(event, MessagePosted | MessageAcked | MessageReceived):
            of = accounts.get((record.node, event.phase))
            wrong += () if of is None else of.note(record.node, event)
    most, total = max(of.most for of in accounts.values()), sum(of.total for of in accounts.values())
    faults = context.plan.scenario.faults
    forgetful = {fault.node for fault in faults if isinstance(fault, Kill)}
    forged = any(isinstance(fault, Forge) or (isinstance(fault, Corrupt) and fault.repair_icrc) for fault in faults)
    overruns = [
        record
        for record in context.events(PacketIgnored)
        if record.event.reason == "overrun" and record.node not in forgetful and not forged
    ]
    wrong += [
        f"{record.node} got a packet of message {record.event.message} of rank {record.event.rank} with no slot free "
        "for it"
        for record in overruns
    ]
    if wrong:
        detail = violations(wrong)
        return CheckResult("credit_bound", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    window = max(of.window for of in accounts.values())
    if not total:
        return CheckResult("credit_bound", Verdict.UNKNOWN, "no worker reported that it posted a message")
    detail = f"{total} messages posted, never more than {most} of {window} in flight per worker"
    return CheckResult("credit_bound", Verdict.PASS, detail)


class _Account:
    """The reports of one worker about one of its rings."""

    def __init__(self, part: WorkerConfig) -> None:
        self._collective, self.window = part.collective, part.collective.window_messages
        self.most = self.total = 0
        """messages beyond the credit, and posted at all"""
        self.forget()

    def forget(self) -> None:
        self._received = self._acked = self._posted = 0

    def note(self, node: str, event: MessagePosted | MessageAcked | MessageReceived) -> Iterator[str]:
        """What is wrong with it."""
        if isinstance(event, MessageReceived):
            self._received += 1
        elif isinstance(event, MessageAcked):
            self._acked += 1
        else:
            yield from self._post(node, event.message)

    def _post(self, node: str, message: int) -> Iterator[str]:
        received, acked = self._received, self._acked
        self.total += 1
        credit = {"received": received, "acked": acked}.get(self._collective.credit, min(received, acked))
        self.most = max(self.most, message + 1 - credit)
        counts = f"{received} results received and {acked} messages acknowledged"
        if message != self._posted:
            yield f"{node} posted message {message} after {self._posted} messages: not in order"
        if message >= self.window + credit:
            yield f"{node} posted message {message} with {counts}: the window is {self.window}"
        if self._collective.hello and message and not received:
            yield f"{node} posted message {message} before the result of the hello"
        self._posted = message + 1

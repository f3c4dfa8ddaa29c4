"""What IRN asks of the rest of a scenario: both ends of every connection speak it, and each packet says where it
goes."""

from __future__ import annotations

from switch_nodes.kinds import program_kinds
from testbed.reading.problems import Problems
from testbed.reading.units import format_duration
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.known import names_where, protocol_of
from workloads.config import IRN_RECOVERIES

__all__ = ["check_irn"]

_LEAST_NS = 1_000


def check_irn(
    problems: Problems, transport: Transport, job: Job, switch: SwitchOptions, nics: tuple[tuple[str, str], ...]
) -> None:
    """`nics`: (host, device) of hosts on devices, which speak go-back-N."""
    if not protocol_of(job.protocol).repairs_losses():
        return
    _check_timers(problems, transport)
    if transport.recovery not in IRN_RECOVERIES:
        return
    path = ("transport", "recovery")
    if transport.recovery not in protocol_of(job.protocol).recoveries():
        problems.add(
            path,
            f"protocol {job.protocol} does not run over IRN",
            found=f"'{transport.recovery}'",
            allowed=f"gbn; or {transport.recovery} with job.protocol: "
            f"{', '.join(names_where(lambda each: transport.recovery in each.recoveries()))}",
        )
    if transport.verb != "write":
        problems.add(
            ("transport", "verb"),
            "IRN places packets out of order, so each must say where it goes, which a SEND does not",
            found=f"'{transport.verb}'",
            allowed="write; or transport.recovery: gbn",
        )
    if transport.receive_late_ns:
        problems.add(
            ("transport", "receive_late"),
            "IRN has no RNR NAK that would ask for a receive",
            found=format_duration(transport.receive_late_ns),
            allowed="0; or transport.recovery: gbn",
        )
    kind = program_kinds().get(switch.program)
    if kind is not None and kind.is_card:
        problems.add(
            ("switch", "program"),
            "the card knows go-back-N alone",
            found=f"'{switch.program}'",
            allowed="netreduce; or transport.recovery: gbn",
        )
    if switch.gate == "epsn":
        problems.add(
            ("switch", "gate"),
            "IRN sends what is behind a loss once, so that a switch which drops it has it sent again",
            found="'epsn'",
            allowed="window; or transport.recovery: gbn",
        )
    if nics:
        host, _ = nics[0]
        problems.add(
            ("nics", host),
            "a ring has one loss recovery, and a device speaks go-back-N",
            found=f"recovery {transport.recovery}, and {host} on a device",
            allowed="soft; or transport.recovery: gbn",
        )


def _check_timers(problems: Problems, transport: Transport) -> None:
    low, high = transport.rto_low_ns, transport.rto_high_ns
    for key, value in (("rto_low", low), ("rto_high", high)):
        if value is None:
            continue
        found = format_duration(value)
        if not transport.speaks_irn:
            problems.add(
                ("transport", key), f"recovery {transport.recovery} has no such timer", found=found,
                allowed=f"leave the key out, or transport.recovery: {', '.join(IRN_RECOVERIES)}",
            )  # fmt: skip
        elif value < _LEAST_NS:
            allowed = f"auto, or {format_duration(_LEAST_NS)} or more"
            problems.add(("transport", key), "out of range", found=found, allowed=allowed)
    if low is not None and high is not None and high < low:
        allowed = f"auto, or rto_low ({format_duration(low)}) or more"
        problems.add(("transport", "rto_high"), "shorter than rto_low", found=format_duration(high), allowed=allowed)

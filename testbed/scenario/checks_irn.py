"""What IRN asks of the rest of a scenario: both ends of every connection speak it, and each packet says where it
goes."""

from __future__ import annotations

from switch_nodes.kinds import program_kinds
from testbed.reading.problems import Problems
from testbed.reading.units import format_duration
from testbed.scenario.job import Job
from testbed.scenario.known import names_where, traits_of
from testbed.scenario.switch import SwitchOptions
from testbed.scenario.transport import Transport
from workloads.config import IRN_RECOVERIES

__all__ = ["check_irn"]


def check_irn(
    problems: Problems, transport: Transport, job: Job, switch: SwitchOptions, nics: tuple[tuple[str, str], ...]
) -> None:
    """`nics`: (host, device) of hosts on devices, which speak go-back-N."""
    if transport.recovery not in IRN_RECOVERIES or not traits_of(job.collective).reliable:
        return
    path = ("transport", "recovery")
    if transport.recovery not in traits_of(job.collective).recoveries:
        problems.add(
            path,
            f"collective {job.collective} does not run over IRN",
            found=f"'{transport.recovery}'",
            allowed=f"gbn; or {transport.recovery} with job.collective: "
            f"{', '.join(names_where(lambda traits: transport.recovery in traits.recoveries))}",
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

"""The stock checkers, in the order in which a report lists them."""

from __future__ import annotations

from switch_nodes.kinds import sums
from testbed.checkers.bit_exact import bit_exact
from testbed.checkers.blocks import summing_nodes
from testbed.checkers.card import counted_once, counted_slots
from testbed.checkers.checker import Check, Checker
from testbed.checkers.congestion import congestion, skip_congestion
from testbed.checkers.context import CheckContext
from testbed.checkers.contract import judged_protocol
from testbed.checkers.credit import credit_bound
from testbed.checkers.early_drops import early_drops, skip_early_drops
from testbed.checkers.exactly_once import exactly_once
from testbed.checkers.exercised import faults_exercised
from testbed.checkers.job_liveness import job_liveness
from testbed.checkers.jobs import blocks_once, job_credit, memory_private
from testbed.checkers.liveness import liveness
from testbed.checkers.of_protocol import skip_approximate
from testbed.checkers.order import no_crash, no_leftovers
from testbed.checkers.pfc import pfc_deadlock, pfc_lossless, pfc_pause_time, skip_pfc
from testbed.checkers.slots import slots_private
from testbed.checkers.steering import skip_steering, steering
from testbed.checkers.training import skip_training, sums_nothing, training
from testbed.checkers.transparency import skip_transparency, transparency
from testbed.checkers.unreliable import skip_unreliable, unreliable
from testbed.checkers.uplinks import skip_uplinks, uplinks
from testbed.history.events import CardCounted
from testbed.history.verdict import CheckResult

__all__ = ["STOCK"]


def _served(context: CheckContext) -> bool:
    """Whether a node sums blocks by the contract of `switch_nodes.jobs`. NetReduce does not: it reports messages."""
    return bool(context.plan.servers) or bool(summing_nodes(context))


def _by_contract(messages: Check, jobs: Check, card: Check | None = None) -> Check:
    """The judge that understands what the switches of this run report. `card`: of one that reports counters only."""

    def check(context: CheckContext) -> CheckResult:
        if card is not None and context.events(CardCounted):
            return card(context)
        return (jobs if _served(context) else messages)(context)

    return check


def _sums_nothing(context: CheckContext) -> bool:
    reader = judged_protocol(context.plan.scenario.job.runs)
    return sums_nothing(context) or any(reader.sums(worker) == () for worker in context.plan.workers)


def _without_aggregation(context: CheckContext) -> str | None:
    if _sums_nothing(context):
        return "no rank posted an all-reduce for the switches: nothing is aggregated"
    summed = any(ring.carries.is_summed for ring in context.rings)
    if _served(context) or (summed and sums(context.plan.scenario.switch.program)):
        return None
    return "nothing is aggregated in this run"


def _without_credit(context: CheckContext) -> str | None:
    protocol = context.plan.scenario.job.protocol
    if context.plan.servers and not judged_protocol(protocol).server_completes():
        return f"switches of {protocol} send results that its server never sees: no node knows which workers are ahead"
    if _sums_nothing(context):
        return "no rank posted an all-reduce for the job's own connections"
    if _served(context) or any(ring.carries.in_messages for ring in context.rings):
        return None
    return "no connection of this run has a credit window"


STOCK = (
    Checker(
        "bit_exact",
        bit_exact,
        proves="every worker holds, bit for bit, what an independent reference computes",
        skip=skip_approximate,
    ),
    Checker(
        "training",
        training,
        proves="all ranks of the training posted the same collectives, and ended in order",
        skip=skip_training,
    ),
    Checker(
        "exactly_once",
        _by_contract(exactly_once, blocks_once, counted_once),
        proves="every packet of every rank entered its sum exactly once",
        skip=lambda context: skip_approximate(context) or _without_aggregation(context),
    ),
    Checker(
        "liveness",
        _by_contract(liveness, job_liveness),
        proves="every worker finished, and no slot holds a contribution without a sum",
    ),
    Checker(
        "credit_bound",
        _by_contract(credit_bound, job_credit),
        proves="no worker sent past its credit window",
        skip=_without_credit,
    ),
    Checker(
        "slots_private",
        _by_contract(slots_private, memory_private, counted_slots),
        proves="no slot served two jobs",
        skip=_without_aggregation,
    ),
    Checker(
        "transparency",
        transparency,
        proves="connections stayed end to end: the switch answered nothing, and changed only payloads",
        skip=skip_transparency,
    ),
    Checker(
        "unreliable",
        unreliable,
        proves="on unreliable connections every iCRC was valid, and the switch sent whole messages without a gap",
        skip=skip_unreliable,
    ),
    Checker(
        "uplinks",
        uplinks,
        proves="each leaf sent one packet per slot up, however many hosts it has",
        skip=skip_uplinks,
    ),
    Checker(
        "steering",
        steering,
        proves="the commodity switch led the job's data, and nothing else, through the accelerator, once",
        skip=skip_steering,
    ),
    Checker(
        "congestion",
        congestion,
        proves="congestion was marked and answered: CE, CNPs, rates within their bounds",
        skip=skip_congestion,
    ),
    Checker(
        "early_drops",
        early_drops,
        proves="queues that know classes dropped the low class early, and nothing else while they had room",
        skip=skip_early_drops,
        of_run=True,
    ),
    Checker(
        "pfc_lossless",
        pfc_lossless,
        proves="PFC engaged, and lossless classes lost nothing that they would have lost without it",
        skip=skip_pfc,
        of_run=True,
    ),
    Checker(
        "pfc_deadlock",
        pfc_deadlock,
        proves="no paused links waited for each other in a circle",
        skip=skip_pfc,
        of_run=True,
    ),
    Checker(
        "pfc_pause_time",
        pfc_pause_time,
        proves="no frame began during a pause of its class; names paused links and victims",
        skip=skip_pfc,
        of_run=True,
    ),
    Checker("faults_exercised", faults_exercised, proves="every fault of the scenario hit at least once", of_run=True),
    Checker("no_crash", no_crash, proves="no process ended unasked", of_run=True),
    Checker("no_leftovers", no_leftovers, proves="nothing that the run made is left on the machine", of_run=True),
)

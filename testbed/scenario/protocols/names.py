"""The words that a scenario may use where it must choose, each with one line for people (`tb list`, docs)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from testbed.scenario.protocols.known import Listed, names_where, programs, protocol_of, summaries
from workloads.collectives import operations

__all__ = [
    "AGES",
    "BACKGROUND_KINDS",
    "COMMODITY_KINDS",
    "CONGESTION_CONTROLS",
    "CREDITS",
    "DCQCN_PRESETS",
    "DEFAULT_PLANNER",
    "DEFAULT_PROGRAM",
    "DEFAULT_PROTOCOL",
    "DEFAULT_RING",
    "DTYPES",
    "EXPECTATIONS",
    "FALLBACKS",
    "FRAMINGS",
    "FREES",
    "GATES",
    "MOST_DILATION",
    "MOST_JOBS",
    "MULTIPATHS",
    "NODE_ROLES",
    "ON_COLLISION",
    "OPERATIONS",
    "OPS",
    "PATH_MTUS",
    "PLANNERS",
    "PRIORITIES",
    "PROGRAMS",
    "PROTOCOLS",
    "RATE_MODES",
    "RECOVERIES",
    "RELEASES",
    "ROCE_PATH_MTUS",
    "STAGES",
    "VERBS",
    "WORKLOADS",
    "WORLDS",
]

WORLDS = {
    "emulated": "real packets between network namespaces of this machine (needs root)",
    "simulated": "the same nodes in virtual time, in one process",
    "lab": "workers on the hosts of a lab and an aggregation card, over SSH (docs/lab.md)",
}
PROGRAMS = programs
PROTOCOLS = summaries
WORKLOADS = {
    "synthetic": "gradients drawn from the seed, of any size",
    "extreme": "as synthetic, with values at the ends of the type among them; floats are finite and below 2^127",
    "special": "as extreme, with infinities and NaNs among the floats (not where floats travel as integers)",
    "digits": "a real model trained on real data: its size follows from the model, float32, sum",
}
DTYPES = {
    "float32": "summed in rank order, each step rounded to nearest even",
    "int32": "wraps around",
    "int32sat": "exact, then clamped once",
}
OPERATIONS = {name: operation.summary for name, operation in operations.OPERATIONS.items()}
OPS = {"sum": "fold in rank order", "max": "largest", "xor": "bitwise"}
COMMODITY_KINDS = {
    "soft": "our own forwarding program obeys the flow rules",
    "openflow": "Open vSwitch under an OpenFlow controller of ours (emulated world; the simulated one takes soft)",
}
_NO_FALLBACK = "none"


def _fallbacks() -> tuple[str, ...]:
    return (_NO_FALLBACK, *names_where(lambda each: each.as_fallback()))


def _fallback(name: str) -> str:
    return "the job fails when its connections die" if name == _NO_FALLBACK else protocol_of(name).as_fallback()


FALLBACKS = Listed(_fallbacks, _fallback, _fallbacks)
"""of a job whose connections die"""
STAGES = Listed(
    lambda: names_where(lambda each: each.as_stage()),
    lambda name: protocol_of(name).as_stage(),
    lambda: names_where(lambda each: each.as_stage()),
)
"""all-reduces of a strategy"""
FRAMINGS = {
    "udp": "datagrams of our own format",
    "uc": "RoCE v2: RDMA WRITE with immediate over unreliable connections",
}
"""of SwitchML packets"""
NODE_ROLES = {
    "host": "a worker; its rank is its place among the hosts",
    "switch": "a switch",
    "leaf": "a switch that hosts hang on",
    "spine": "a switch above leaves",
    "edge": "a switch that hosts hang on, in a fat tree",
    "aggregation": "a switch above edges",
    "core": "a switch above all",
    "machine": "a switch inside a machine, which its workers hang on",
    "rack": "a switch above machines",
}
"""of a custom topology; all but `host` behave as one and differ in drawings"""
CONGESTION_CONTROLS = {
    "none": "senders keep to their windows and know no rate",
    "dcqcn": "receivers answer CE marks with CNPs, senders cut their rate for them",
}
DCQCN_PRESETS = ("paper", "hpcc", "conweave")
BACKGROUND_KINDS = {
    "udp": "constant rate, heeds nothing; both worlds",
    "tcp": "the kernel's TCP, by iperf3; emulated world only",
}
RECOVERIES = {
    "gbn": "go-back-N: all from the lost packet on is sent again",
    "irn": "IRN: what is lost is sent again alone",
    "irn-rack": "IRN that distinguishes loss from reordering by time (RFC 8985)",
    "irn-held": "IRN where switches that sum say what they hold (netreduce)",
}
"""how RC connections repair losses"""
VERBS = {"write": "RDMA WRITE with immediate", "send": "SEND with immediate"}
CREDITS = {
    "both": "a message may go when message m-N has come back and its own m-N is acknowledged",
    "received": "only the first of the two",
    "acked": "only the second of the two",
}
MULTIPATHS = {
    "flow": "all frames of a flow take one of the shortest paths",
    "spray": "each frame takes one of the shortest paths",
}
"""over several equal paths"""
RELEASES = {
    "order": "results leave in PSN order on each connection, but for those that wait for themselves",
    "asap": "results leave as soon as they are complete",
}
GATES = {
    "window": "packets ahead of the expected one are taken inside the window",
    "epsn": "only the expected packet is taken",
}
EXPECTATIONS = {
    "pass": "every sum is right and every fault hit",
    "fail": "the scenario breaks something on purpose",
    "unknown": "nothing can be said",
}
MOST_DILATION = 10_000
MOST_JOBS = 1024
"""ids of jobs are 1 to this"""
DEFAULT_PROTOCOL = DEFAULT_PROGRAM = "netreduce"
"""of `job.protocol` and `switch.program`. Kept files without the key mean this"""
DEFAULT_PLANNER = "grid"
"""of `routing.planner`"""
DEFAULT_RING = "ring"
"""how `tb strategies` sums"""
AGES = {
    "none": "a collision changes nothing",
    "minus1": "each collision takes one off the occupant's priority",
    "shift1": "each collision halves the occupant's priority",
}
FREES = {
    "early": "the switch sends a complete sum to the workers, and its slot is free",
    "ack": "the server sends it, and its result frees the slot",
}
PRIORITIES = {
    "equal": "none is before another",
    "layer": "earlier layers first: the next forward pass needs them first",
    "comm": "jobs first that communicate long for each time unit of computation",
    "srpt": "jobs first that have the least left to sum",
    "las": "jobs first that have had the least summed",
    "esa-default": "comm, and layer where that is equal",
}
"""rules of `workloads.datagrams.priority`"""


def _planners() -> Mapping[str, Any]:
    """They bring solvers along, which only who asks shall wait for."""
    planners: Mapping[str, Any] = import_module("topologies.routing.gradients.planners").PLANNERS
    return planners


PLANNERS = Listed(lambda: tuple(_planners()), lambda name: str(_planners()[name].meaning), lambda: tuple(_planners()))
"""of gradient routes (`tb route`)"""
RATE_MODES = {
    "aimd": "each worker's window finds its rate",
    "paced": "each worker sends at the rate of the plan",
}
ON_COLLISION = {
    "drop": "the switch drops the packet, and asks its worker to slow down and send it again",
    "to_ps": "the packet, and the rest of its block, go on to the parameter server",
}
ROCE_PATH_MTUS = (256, 512, 1024, 2048, 4096)
"""those of `ibv_mtu` (libibverbs, verbs.h)"""
PATH_MTUS = (*ROCE_PATH_MTUS, 8192)
"""the last one: of datagrams that are not RoCE, on links with jumbo frames"""

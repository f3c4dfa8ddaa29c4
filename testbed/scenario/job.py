"""`job` and `jobs`: what the workers do."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.models import Model

__all__ = ["Compute", "Job"]


@dataclass(frozen=True, slots=True)
class Compute:
    """How long an iteration computes. All None: as long as the layers of the model were measured to take."""

    ratio: float | None = None
    """to the time that the gradient takes on the slowest link of the job's hosts"""
    forward_ns: int | None = None
    backward_ns: int | None = None
    jitter: float = 0.0
    """each layer takes up to that share longer or shorter"""


@dataclass(frozen=True, slots=True)
class Job:
    """What the workers do."""

    collective: str = "netreduce"
    """netreduce, switchml, atp, esa, ring, shift (a NetReduce worker through a plain switch), parallel_netreduce, tencent"""
    workload: str = "synthetic"
    """synthetic, extreme, special, digits"""
    size_bytes: int = 1_000_000
    """of one gradient; digits: follows from the model"""
    dtype: str = "float32"
    """float32, int32, int32sat"""
    op: str = "sum"
    """sum, max, xor"""
    iterations: int = 1
    message_packets: int = 170
    """L"""
    window_messages: int = 2
    """N"""
    copies: int = 1
    """the job runs so many times side by side, each on its share of the hosts"""
    window_packets: int = 64
    """W of datagram protocols: packets outstanding per worker"""
    credit: str = "both"
    """both, received, acked"""
    hello: bool = True
    fallback: str = "none"
    """none; ring: start anew as ring all-reduce when the connections die"""
    straggle_rank: int | None = None
    """rank that starts every iteration late"""
    straggle_ns: int = 0
    pipelined: bool = True
    """rings pass on each message as soon as it is there; false: step by step, as closed forms count"""
    hosts: tuple[str, ...] = ()
    """that run it, in rank order; empty: all, in the order of the topology"""
    name: str = ""
    """of one of several jobs"""
    number: int | None = None
    """its id; None: by its place among the jobs"""
    model: Model | None = None
    """None: a gradient of `size_bytes` of which no layers are known; otherwise `size_bytes` follows from it"""
    scale: int = 1000
    """by which the tensors of the model are divided"""
    compute: Compute | None = None
    """None: nothing is computed, unless the model's layers were measured"""
    server: str = ""
    """host of its parameter server, where the protocol has one"""
    fixed_scale: float | None = None
    """atp, esa: by which floats are multiplied, to travel as integers; None: exponents say it, block by block"""
    priority: str = "esa-default"
    """esa: rule of its packets' priority (`workloads.atp.priority`)"""
    priority_x0: float | None = None
    """where the scale of the rule begins; None: the rule's own"""
    arrival_ns: int = 0
    """since the start of the traffic: when the job starts"""
    seed_offset: int = 0
    """jobs with different offsets have different gradients"""
    straggle_factor: float = 1.0
    """by which the rank that starts late computes slower"""

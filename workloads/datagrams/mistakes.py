"""What cannot be in the configuration of a host that talks in datagrams: asked once, and told with the place that
whoever asks knows, the name of a Machine or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.errors import ScenarioError
from workloads.wire import Envelope

__all__ = [
    "MAX_ELEMENTS",
    "MAX_INDICES",
    "MAX_ITERATIONS",
    "MAX_WORKERS",
    "Mistake",
    "mistakes_in_arithmetic",
    "mistakes_in_packets",
    "mistakes_in_share",
    "mistakes_in_timeout",
    "mistakes_in_workload",
    "refuse",
]

MAX_ELEMENTS = 1 << 30
"""of a gradient: 4 GiB, as in a scenario"""
MAX_ITERATIONS = 1_000_000
LEAST_RTO_NS = 10_000
"""below, workers send little but copies until they know what a round trip takes"""
MAX_WORKERS = 32
"""width of a bitmap"""
MAX_INDICES = 1 << 16
"""that a header can name"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Keys are those of the configuration: `jobs[1].window`."""

    key: str
    found: str
    allowed: str

    def within(self, place: str) -> Mistake:
        """The same in a part of a larger configuration."""
        return Mistake(f"{place}.{self.key}", self.found, self.allowed)


def refuse(mistakes: Iterable[Mistake], *, owner: str) -> None:
    """Raises ScenarioError for the first one."""
    for mistake in mistakes:
        raise ScenarioError(f"{owner}: cannot be", key=mistake.key, found=mistake.found, allowed=mistake.allowed)


def mistakes_in_share(
    share: JobShare, envelope: Envelope, kinds: Sequence[str], dtypes: Sequence[str]
) -> Iterator[Mistake]:
    """What a worker of any protocol takes for granted."""
    if share.kind not in kinds:
        yield Mistake("collective.kind", share.kind, ", ".join(kinds))
    if not 1 <= share.job < 1 << 16:
        yield Mistake("collective.job", str(share.job), "1 .. 65535")
    if not 1 <= share.size <= MAX_WORKERS:
        yield Mistake("collective.size", str(share.size), f"1 .. {MAX_WORKERS}, the width of the bitmap")
    elif not 0 <= share.rank < share.size:
        yield Mistake("collective.rank", str(share.rank), f"0 .. {share.size - 1}")
    yield from (mistake.within("collective") for mistake in mistakes_in_arithmetic(share.arithmetic, dtypes))
    if len(envelope.src_ip) != 4 or len(envelope.dst_ip) != 4:
        yield Mistake("envelope", f"{envelope.src_ip.hex()} to {envelope.dst_ip.hex()}", "IPv4 addresses")


def mistakes_in_workload(workload: WorkloadConfig) -> Iterator[Mistake]:
    """Of a worker of any collective."""
    for key, found, most in (
        ("elements", workload.elements, MAX_ELEMENTS),
        ("iterations", workload.iterations, MAX_ITERATIONS),
    ):
        if not 1 <= found <= most:
            yield Mistake(f"workload.{key}", str(found), f"1 .. {most}")


def mistakes_in_arithmetic(arithmetic: ArithmeticSpec, dtypes: Sequence[str]) -> Iterator[Mistake]:
    if arithmetic.op != "sum":
        yield Mistake("arithmetic.op", arithmetic.op, "sum")
    if arithmetic.dtype not in dtypes:
        yield Mistake("arithmetic.dtype", arithmetic.dtype, ", ".join(dtypes))


def mistakes_in_timeout(rto_ns: int) -> Iterator[Mistake]:
    if rto_ns < LEAST_RTO_NS:
        yield Mistake("rto_ns", str(rto_ns), f"{LEAST_RTO_NS} or more")


def mistakes_in_packets(elements: int, window: int, most_elements: int) -> Iterator[Mistake]:
    if elements % 2 or not 2 <= elements <= most_elements:
        yield Mistake("elements", str(elements), f"an even number, 2 .. {most_elements}")
    if not 1 <= window <= MAX_INDICES:
        yield Mistake("window", str(window), f"1 .. {MAX_INDICES} packets")

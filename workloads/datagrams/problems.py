"""Problems in the configuration of a host that sends datagrams. The caller adds the place that it knows, such as the
name of a Machine or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workloads.config import ArithmeticSpec, JobShare, WorkloadConfig
from workloads.datagrams.worker_sets import MAX_RACKS, WIDTH
from workloads.errors import ScenarioError
from workloads.transports.timing import LEAST_RTO_NS
from workloads.wire import Envelope

__all__ = [
    "MAX_ELEMENTS",
    "MAX_INDICES",
    "MAX_ITERATIONS",
    "MAX_WORKERS",
    "MAX_WORKERS_IN_RACKS",
    "ConfigProblem",
    "problems_in_arithmetic",
    "problems_in_packets",
    "problems_in_racks",
    "problems_in_share",
    "problems_in_timeout",
    "problems_in_workload",
    "refuse",
]

MAX_ELEMENTS = 1 << 30
"""most elements of a gradient: 4 GiB, as in a scenario"""
MAX_ITERATIONS = 1_000_000
MAX_WORKERS = WIDTH
"""most workers of a job whose packets name workers by `bitmap0` alone"""
MAX_WORKERS_IN_RACKS = WIDTH * MAX_RACKS
"""most workers of a job whose packets name them by `bitmap0` and `bitmap1`"""
MAX_INDICES = 1 << 16
"""slot indices that a header can name"""


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """Keys are those of the configuration: `jobs[1].window`."""

    key: str
    found: str
    allowed: str

    def within(self, place: str) -> ConfigProblem:
        """The same in a part of a larger configuration."""
        return ConfigProblem(f"{place}.{self.key}", self.found, self.allowed)


def refuse(problems: Iterable[ConfigProblem], *, owner: str) -> None:
    """Raises ScenarioError for the first one."""
    for problem in problems:
        raise ScenarioError(f"{owner}: cannot be", key=problem.key, found=problem.found, allowed=problem.allowed)


def problems_in_share(
    share: JobShare, envelope: Envelope, kinds: Sequence[str], dtypes: Sequence[str], most: int = MAX_WORKERS
) -> Iterator[ConfigProblem]:
    """What a worker of any protocol takes for granted. `most`: workers of a job."""
    if share.kind not in kinds:
        yield ConfigProblem("collective.kind", share.kind, ", ".join(kinds))
    if not 1 <= share.job < 1 << 16:
        yield ConfigProblem("collective.job", str(share.job), "1 .. 65535")
    if not 1 <= share.size <= most:
        yield ConfigProblem("collective.size", str(share.size), f"1 .. {most}, what bitmaps can name")
    elif not 0 <= share.rank < share.size:
        yield ConfigProblem("collective.rank", str(share.rank), f"0 .. {share.size - 1}")
    yield from (problem.within("collective") for problem in problems_in_arithmetic(share.arithmetic, dtypes))
    if len(envelope.src_ip) != 4 or len(envelope.dst_ip) != 4:
        yield ConfigProblem("envelope", f"{envelope.src_ip.hex()} to {envelope.dst_ip.hex()}", "IPv4 addresses")


def problems_in_racks(racks: Sequence[Sequence[int]], workers: int) -> Iterator[str]:
    """What is wrong with the racks by which the packets of a job name its workers."""
    if sorted(rank for rack in racks for rank in rack) != list(range(workers)):
        yield "each rank in one rack"
    if len(racks) > MAX_RACKS:
        yield f"at most {MAX_RACKS} racks, the bits of bitmap1"
    if any(len(rack) > WIDTH for rack in racks):
        yield f"at most {WIDTH} workers in a rack, the bits of bitmap0"


def problems_in_workload(workload: WorkloadConfig) -> Iterator[ConfigProblem]:
    """Problems in the workload of a worker of any collective."""
    for key, found, most in (
        ("elements", workload.elements, MAX_ELEMENTS),
        ("iterations", workload.iterations, MAX_ITERATIONS),
    ):
        if not 1 <= found <= most:
            yield ConfigProblem(f"workload.{key}", str(found), f"1 .. {most}")


def problems_in_arithmetic(arithmetic: ArithmeticSpec, dtypes: Sequence[str]) -> Iterator[ConfigProblem]:
    if arithmetic.op != "sum":
        yield ConfigProblem("arithmetic.op", arithmetic.op, "sum")
    if arithmetic.dtype not in dtypes:
        yield ConfigProblem("arithmetic.dtype", arithmetic.dtype, ", ".join(dtypes))


def problems_in_timeout(rto_ns: int) -> Iterator[ConfigProblem]:
    if rto_ns < LEAST_RTO_NS:
        yield ConfigProblem("rto_ns", str(rto_ns), f"{LEAST_RTO_NS} or more")


def problems_in_packets(elements: int, window: int, most_elements: int) -> Iterator[ConfigProblem]:
    if elements % 2 or not 2 <= elements <= most_elements:
        yield ConfigProblem("elements", str(elements), f"an even number, 2 .. {most_elements}")
    if not 1 <= window <= MAX_INDICES:
        yield ConfigProblem("window", str(window), f"1 .. {MAX_INDICES} packets")

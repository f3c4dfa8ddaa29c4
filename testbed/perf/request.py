"""What `tb perf` measures, and the runs that this takes: a sweep with one point per protocol, size and half."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from testbed.reading.problems import closest, show
from testbed.scenario import Scenario, load_scenario
from testbed.scenario.own_program import PROGRAM_KEY
from testbed.scenario.protocols.known import protocol_of, protocols
from testbed.scenario.protocols.protocol import KeyGroup, KnownProtocol
from testbed.sweeps.protocols import require_protocol
from testbed.sweeps.scenario_model import ScenarioSweep, Variant
from workloads.collectives.operations import ALL_REDUCE, OPERATIONS, OperationKind
from workloads.errors import ScenarioError

__all__ = [
    "COLLECTIVES",
    "DTYPES",
    "OPS",
    "Half",
    "PerfRequest",
    "require_collective",
    "resolved",
    "sweep_of",
    "takes_in_place",
]

_ALL_TO_ALL = {"alltoall": "all_to_all"}
_NOT_OF_NCCL = ("send", "barrier")
COLLECTIVES = {
    **{name: name for name in OPERATIONS if name not in (*_ALL_TO_ALL.values(), *_NOT_OF_NCCL)},
    **_ALL_TO_ALL,
}
"""collectives of nccl-tests that our protocols bring to the wire -> `job.operation`"""
_OTHERS = ("gather", "scatter", "sendrecv")
DTYPES = {"float": "float32", "int32": "int32"}
"""names of nccl-tests -> ours"""
OPS = ("sum", "max")
_ITERATIONS = 20
_MOST_BYTES = 2 << 20
"""bytes that the iterations of one run reduce in virtual time, unless one iteration is more"""

_NO_CAPTURE = "capture=false"
"""results are compared with the reference; to capture every frame and check its headers takes as long as the run"""


@dataclass(frozen=True, slots=True)
class Half:
    """One half of a row, which one run measures."""

    protocol: str
    size: int
    in_place: bool

    @property
    def label(self) -> str:
        return f"{self.protocol} {self.size}{' in place' if self.in_place else ''}"


@dataclass(frozen=True, slots=True)
class PerfRequest:
    scenario: str
    sizes: tuple[int, ...]
    """bytes, in ascending order"""
    factor: int | None = None
    """of one size to the one before; None: they grow by `step`"""
    step: int = 0
    """bytes"""
    protocols: tuple[str, ...] = ()
    """empty: that of the scenario"""
    collective: str = "all_reduce"
    dtype: str = "float"
    op: str = "sum"
    root: int | None = None
    """None: 0"""
    iterations: int | None = None
    """None: 20, and fewer of large sizes in virtual time"""
    warmup: int | None = None
    """None: 1, but 0 where one iteration is measured by default"""
    world: str | None = None
    """None: that of the scenario"""
    seed: int | None = None
    """None: that of the scenario"""
    overrides: tuple[str, ...] = ()
    """`key=value`"""

    @property
    def operation(self) -> OperationKind:
        return OPERATIONS[COLLECTIVES[self.collective]]

    def counts(self, size: int, world: str) -> tuple[int, int]:
        """Measured iterations of a size, and warm-up iterations before them."""
        fewer = max(1, min(_ITERATIONS, _MOST_BYTES // size)) if world == "simulated" else _ITERATIONS
        measured = fewer if self.iterations is None else self.iterations
        warmup = 0 if self.iterations is None and measured == 1 else 1
        return measured, warmup if self.warmup is None else self.warmup

    def path_mtu(self, scenario: Scenario, protocol: str) -> int:
        """That of the scenario, or the largest that the protocol's packets have."""
        return min(scenario.transport.path_mtu, protocol_of(protocol).largest_mtu())


def require_collective(name: str) -> None:
    """Raises ScenarioError for a collective that nothing here brings to the wire."""
    if name in COLLECTIVES:
        return
    raise ScenarioError(
        "no protocol here runs it over the network" if name in _OTHERS else "no such collective", file="tb perf",
        key="COLLECTIVE", found=show(name), allowed=", ".join(COLLECTIVES), hint=closest(name, COLLECTIVES),
    )  # fmt: skip


def resolved(request: PerfRequest) -> tuple[PerfRequest, Scenario]:
    """The request with its protocols, and the scenario that its runs change. Raises ScenarioError where they cannot be
    made."""
    request = replace(request, collective=_name_of_nccl(request.collective))
    require_collective(request.collective)
    if request.root is not None and not request.operation.has_root:
        rooted = ", ".join(name for name, key in COLLECTIVES.items() if OPERATIONS[key].has_root)
        raise ScenarioError(
            f"{request.collective} has no root", file="tb perf", key="--root", found=str(request.root),
            allowed=f"leave the option out; {rooted} have one",
        )  # fmt: skip
    scenario = load_scenario(request.scenario, request.overrides, request.seed, request.world)
    own = scenario.job.protocol
    if scenario.jobs or scenario.beside:
        key = "jobs" if scenario.jobs else "beside"
        raise ScenarioError("has several jobs", file=request.scenario, key=key, allowed="a scenario with one job")
    able = tuple(each.name for each in protocols() if _runs(each, request))
    if not request.protocols and own not in able and request.collective == ALL_REDUCE:
        raise ScenarioError(
            f"is no {request.collective}", file=request.scenario, key="job.protocol", found=own,
            allowed="a collective that sums, or --protocol",
        )  # fmt: skip
    for name in request.protocols:
        if request.collective == ALL_REDUCE:
            require_protocol(name, file="tb perf", key="--protocol")
        elif name not in able:
            raise ScenarioError(
                f"does not run {request.collective}", file="tb perf", key="--protocol", found=show(name),
                allowed=", ".join(able), hint=closest(name, able),
            )  # fmt: skip
    # A protocol that runs every operation runs each as another one does.
    usual = tuple(
        each.name for each in protocols() if each.name in able and not set(OPERATIONS) <= set(each.operations())
    )
    return replace(request, protocols=request.protocols or ((own,) if own in able else usual or able)), scenario


def _name_of_nccl(name: str) -> str:
    return next((nccl for nccl, operation in _ALL_TO_ALL.items() if operation == name), name)


def _runs(protocol: KnownProtocol, request: PerfRequest) -> bool:
    summing = protocol.result().is_sum or not request.operation.sums
    return summing and COLLECTIVES[request.collective] in protocol.operations()


def takes_in_place(request: PerfRequest, protocol: str) -> bool:
    """Whether there is an in-place half."""
    return request.collective == ALL_REDUCE and KeyGroup.IN_PLACE in protocol_of(protocol).optional_keys()


def halves_of(request: PerfRequest) -> Iterator[Half]:
    """The halves that can be measured, in the order of the tables."""
    for protocol in request.protocols:
        for size in request.sizes:
            yield Half(protocol, size, in_place=False)
            if takes_in_place(request, protocol):
                yield Half(protocol, size, in_place=True)


def sweep_of(request: PerfRequest, scenario: Scenario) -> ScenarioSweep:
    """Of what `resolved` gave. The longest runs come first, so that the last ones are short."""
    halves = sorted(halves_of(request), key=lambda half: -half.size)
    return ScenarioSweep(
        name=f"perf-{scenario.name}",
        description="",
        scenarios=(request.scenario,),
        variants=tuple(_variant(request, scenario, half) for half in halves),
        seeds=(scenario.seed,),
        worlds=(scenario.world,),
        changes=(_NO_CAPTURE, *request.overrides),
        figures=("algbw_bps", "busbw_bps", "wire.sent_per_rank_bytes", "busiest_link.utilisation"),
        names_code=any(change.partition("=")[0].strip() == PROGRAM_KEY for change in request.overrides),
        source="tb perf",
    )


def _variant(request: PerfRequest, scenario: Scenario, half: Half) -> Variant:
    path_mtu = request.path_mtu(scenario, half.protocol)
    changes = {
        "job.size": half.size,
        "job.iterations": sum(request.counts(half.size, scenario.world)),
        "job.dtype": DTYPES[request.dtype],
        **({"job.op": request.op} if request.operation.sums else {}),
        **({"job.operation": COLLECTIVES[request.collective]} if request.collective != ALL_REDUCE else {}),
        **({"job.root": request.root or 0} if request.operation.has_root else {}),
        **({"job.in_place": True} if half.in_place else {}),
        **({"transport.path_mtu": path_mtu} if path_mtu != scenario.transport.path_mtu else {}),
    }
    protocol = "" if half.protocol == scenario.job.protocol else half.protocol
    return Variant(half.label, protocol, tuple(changes.items()))

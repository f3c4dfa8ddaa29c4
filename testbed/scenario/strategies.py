"""What collective `staged` adds to `job`, and what must hold between that and the rest of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from switch_nodes.kinds import sums
from testbed.reading.fields import choice, refuse, whole
from testbed.reading.keytypes import At, KeyType, Refer
from testbed.reading.problems import Problems, show
from testbed.reading.sections import Also, NotKnown, Section
from testbed.scenario import names
from testbed.scenario.chains import ChainType, OperatorsType
from testbed.scenario.checks import check_fabric
from testbed.scenario.job import Job
from testbed.scenario.known import protocol_of
from testbed.scenario.switch import SwitchOptions
from testbed.scenario.transport import Transport
from topologies import Topology, attachment
from workloads.collectives.kinds import ring_kind
from workloads.errors import ScenarioError
from workloads.strategies import Chain, Stage, stages_of
from workloads.strategies.chain import SPLITS, Strategy, parse_strategy
from workloads.strategies.stages import REDUCE

__all__ = ["StrategyKeys", "check_strategy"]

_ELEMENT_BYTES = 4
_SWITCH_MEMORY = 1 << 30


class _StrategyType(KeyType):
    """`DP,MP,MP`, or as a list; one word for all operators. How many there must be, the section says."""

    allowed = f"{' or '.join(SPLITS)} for each operator, as DP,MP,MP, 2xDP,MP, or one word for all"

    def read(self, value: Any, at: At) -> str:
        text = ",".join(map(str, value)) if isinstance(value, list) else value
        if not isinstance(text, str) or not text:
            raise refuse("not a strategy", self.allowed)
        return text

    def schema(self, refer: Refer) -> dict[str, Any]:
        word = {"enum": list(SPLITS)}
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": word, "minItems": 1}]}


@dataclass(frozen=True, slots=True)
class StrategyKeys(Section):
    strategy: Annotated[str, _StrategyType()]
    """`DP` (data-parallel) or `MP` (model-parallel) for each operator: `DP,DP,MP` or `2xDP,MP`, or one word for all"""
    chain: Annotated[
        Chain | None,
        ChainType(),
        Also(
            "operators",
            OperatorsType(),
            "the same, as a list: `[{name: fc, weights: 400kB, activations: 64kB, compute: 2ms}, ...]`",
        ),
    ] = None
    """`alexnet`, `vgg16`, `resnet50`, or the path of a YAML file, from the folder of the scenario
    ([strategies](strategies.md#chains))"""
    all_reduce: Annotated[str, choice(names.STAGES)] = "netreduce"
    """how vectors are summed: `netreduce` (in the switches), `ring`"""
    divide: Annotated[int, whole(1, 1_000_000_000)] = 1000
    """by which all vectors are smaller, but never below an element for each host; times are as they are"""

    def check(self, at: At) -> None:
        if (*at.path, "operators") in at.problems.places and (*at.path, "chain") in at.problems.places:
            (at / "operators").add("stands beside chain", allowed="one of chain, operators")
        if self.chain is None:
            (at / "chain").add("is missing", allowed="the name of a chain, a YAML file, or operators")
            return
        try:
            parse_strategy(self.strategy, len(self.chain.operators))
        except ScenarioError as error:
            (at / "strategy").add(error.problem, found=error.found, allowed=error.allowed)

    def splits(self) -> Strategy:
        """One for each operator. Raises NotKnown where the strategy is none of the chain's."""
        if self.chain is None:
            raise NotKnown("chain")
        try:
            return parse_strategy(self.strategy, len(self.chain.operators))
        except ScenarioError:
            raise NotKnown("strategy") from None

    def stages(self, ranks: int) -> tuple[Stage, ...]:
        """Raises NotKnown likewise."""
        splits = self.splits()
        assert self.chain is not None
        return stages_of(self.chain, splits, ranks, self.divide)

    def gradient_bytes(self, ranks: int) -> int:
        """Of all vectors of an iteration."""
        return _ELEMENT_BYTES * sum(stage.elements for stage in self.stages(ranks))


def check_strategy(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    nics: Sequence[tuple[str, str]] = (),
) -> None:
    """The endpoints are our own, and switches that sum have room for the rings of all stages."""
    for host, device in nics:
        problems.add(
            ("nics", host), "a strategy has a ring for each of its stages, and a worker on an RDMA device has one ring",
            found=f"verbs:{device}", allowed="soft",
        )  # fmt: skip
    if ("job", "size") in problems.places:
        problems.add(("job", "size"), "follows from the chain and its strategy", allowed="leave the key out, or divide")
    keys: StrategyKeys = job.own
    if keys is None or not ring_kind(keys.all_reduce).is_summed:
        return
    if not sums(switch.program):
        problems.add(
            ("job", "all_reduce"), f"program {switch.program} sums nothing", found=show(keys.all_reduce),
            allowed=f"{_between_hosts()}; or switch.program: {', '.join(protocol_of(keys.all_reduce).programs)}",
        )  # fmt: skip
        return
    if attachment(topology) is not None:
        problems.add(
            ("job", "all_reduce"), "an accelerator beside its switch serves one ring", found=show(keys.all_reduce),
            allowed=f"{_between_hosts()}, or another topology.kind",
        )  # fmt: skip
        return
    check_fabric(problems, topology, job)
    ranks = len(job.hosts) or len(topology.hosts)
    rings = sum(stage.kind == REDUCE for stage in keys.stages(ranks))
    each = 2 * job.window_messages * job.message_packets * (ranks + 1) * transport.path_mtu
    if rings * each > _SWITCH_MEMORY:
        problems.add(
            ("job", "message_packets"), "the windows of all rings are too large for the switch's memory",
            found=f"{rings} rings of {each} bytes", allowed=f"at most {_SWITCH_MEMORY} bytes in all",
        )  # fmt: skip


def _between_hosts() -> str:
    return ", ".join(name for name in names.STAGES if not ring_kind(name).is_summed)

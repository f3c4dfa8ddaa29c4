"""A strategy of a chain as keys of a scenario file: of a job over datagrams (`stages`), and of protocol `staged`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from testbed.reading.fields import refuse, whole
from testbed.reading.keytypes import At, KeyType, Refer
from testbed.reading.sections import Also, NotKnown, Section
from testbed.scenario.keys.chains import ChainType, OperatorsType
from testbed.scenario.keys.transport import Transport
from workloads.errors import ScenarioError
from workloads.strategies import Chain, Stage, stages_of
from workloads.strategies.chain import SPLITS, Strategy, parse_strategy
from workloads.strategies.stages import RESHARD

__all__ = ["StagesKeys", "block_elements", "stage_elements"]

_ELEMENT_BYTES = 4


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
class StagesKeys(Section):
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
    divide: Annotated[int, whole(1, 1_000_000_000)] = 1000
    """by which all vectors are smaller, but never below an element for each host; times are as they are"""

    def check(self, at: At) -> None:
        if (*at.path, "operators") in at.problems.places and (*at.path, "chain") in at.problems.places:
            (at / "operators").add("cannot be combined with chain", allowed="one of chain, operators")
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


def block_elements(transport: Transport) -> int:
    """Of a full datagram, or message."""
    return transport.path_mtu // _ELEMENT_BYTES * (transport.uc_packets if transport.framing == "uc" else 1)


def stage_elements(stages: Sequence[Stage], ranks: int, block: int) -> tuple[int, ...]:
    """Of each stage over datagrams, in whole blocks: one that two stages share could never leave. A reshard is as many
    as each device sends in it, since all that travels here is summed."""
    return tuple(
        -(-(stage.elements * (ranks - 1) // ranks if stage.kind == RESHARD else stage.elements) // block) * block
        for stage in stages
    )

"""Chains of operators as files hold them: a known network by name, a YAML file of one's own, or the operators one by
one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from testbed.reading.fields import SizeKey, TextKey, WordKey, refuse
from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import InvalidScenario, Problems, closest, show
from testbed.reading.quantities import DurationKey
from testbed.reading.sections import Section, declare_keys, read_section, write_section
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario.overrides import SET_FILE
from workloads.errors import ScenarioError
from workloads.strategies import CHAIN_NAMES, Chain, Operator, chain_of_model

__all__ = ["MOST_OPERATORS", "ChainType", "OperatorsType", "load_chain"]

MOST_OPERATORS = 128
"""each may have two transfers, and each transfer has queue pairs of its own on every host"""

declare_keys(
    Operator,
    name=(WordKey, "its name: `a-z`, `0-9`, `-`"),
    weights_bytes=(SizeKey, "of its parameters, and so of their gradient"),
    activations_bytes=(SizeKey, "of what it hands to the next operator, for the whole batch"),
    compute_ns=(DurationKey, "of a forward and a backward pass on one device; 0: none"),
)


@dataclass(frozen=True, slots=True)
class OperatorsType(KeyType):
    """A list of operators, in the order of the forward pass."""

    def read(self, value: Any, at: At) -> Chain:
        if not isinstance(value, list) or not value:
            raise refuse("not a list of operators", "one per `- name: ...`, in the order of the forward pass")
        if len(value) > MOST_OPERATORS:
            raise refuse("too many operators", f"at most {MOST_OPERATORS}")
        before, operators = len(at.problems), list[Operator]()
        for index, entry in enumerate(value):
            operator = read_section(at / index, entry, Operator, "the operator")
            if operator is None:
                continue
            if operator.name in [other.name for other in operators]:
                (at / index / "name").add("two operators of one name", found=show(operator.name))
            operators.append(operator)
        if len(at.problems) > before:
            raise Told
        return Chain("", tuple(operators))

    def write(self, value: Chain) -> Any:
        return None if _is_known(value) else [write_section(operator) for operator in value.operators]

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "array", "items": refer(Operator), "minItems": 1, "maxItems": MOST_OPERATORS}

    def sections(self) -> tuple[type, ...]:
        return (Operator,)


@dataclass(frozen=True, slots=True)
class _ChainFile(Section):
    """A file of its own."""

    name: WordKey
    """of the chain"""
    operators: Annotated[Chain, OperatorsType()]
    """in the order of the forward pass"""
    description: TextKey = ""
    """for people"""


@dataclass(frozen=True, slots=True)
class ChainType(KeyType):
    """A known network by name, or the path of a YAML file, from the folder of the file that names it."""

    def read(self, value: Any, at: At) -> Chain:
        if not isinstance(value, str):
            raise refuse("not text", "text", "quote it" if isinstance(value, (int, float)) else None)
        if value in CHAIN_NAMES:
            return chain_of_model(value)
        if not value.endswith((".yaml", ".yml")):
            raise refuse(
                "no such chain",
                f"{', '.join(CHAIN_NAMES)}, or the path of a file (*.yaml)",
                closest(value, CHAIN_NAMES),
            )
        here = Path() if at.problems.place(at.path).file == SET_FILE else at.problems.folder
        try:
            return load_chain(here / value, value)
        except InvalidScenario as errors:
            for error in errors.problems:
                at.problems.relay(at.path, error)
        except ScenarioError as error:
            at.problems.relay(at.path, error)
        raise Told from None

    def write(self, value: Chain) -> str | None:
        return value.name if _is_known(value) else None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(CHAIN_NAMES)}, {"type": "string", "pattern": "[.]ya?ml$"}]}


def load_chain(path: Path, shown: str) -> Chain:
    """`shown`: what messages call the file. Raises ScenarioError: all problems, with file, line and key."""
    data, places = parse_yaml(read_text(path, shown), shown)
    if not isinstance(data, dict):
        problem = "the file is empty" if data is None else "the file is not a mapping"
        found = None if data is None else show(data)
        raise ScenarioError(problem, file=shown, found=found, allowed="keys: name, operators, description")
    problems = Problems(shown, places, path.parent)
    found_file = read_section(At(problems), data, _ChainFile, "the file")
    problems.raise_if_any()
    assert found_file is not None
    return Chain(found_file.name, found_file.operators.operators)


def _is_known(chain: Chain) -> bool:
    return chain.name in CHAIN_NAMES and chain == chain_of_model(chain.name)

"""What cannot be in a datagram host's configuration, each as a Machine and as a file would tell it."""

from __future__ import annotations

import pytest

from workloads.config import ArithmeticSpec
from workloads.datagrams.problems import ConfigProblem, problems_in_arithmetic, problems_in_packets, refuse
from workloads.errors import ScenarioError


def told(problem: ConfigProblem) -> str:
    return f"{problem.key}: {problem.found}; {problem.allowed}"


def test_the_first_mistake_is_told_with_its_owner() -> None:
    problems = [ConfigProblem("window", "0", "1"), ConfigProblem("memory", "0", "1")]
    with pytest.raises(ScenarioError) as caught:
        refuse(problems, owner="worker h1")
    assert str(caught.value) == "scenario: window: worker h1: cannot be; found 0; allowed: 1"
    refuse([], owner="worker h1")


def test_arithmetic() -> None:
    assert [told(each) for each in problems_in_arithmetic(ArithmeticSpec("max", "float64"), ("int32",))] == [
        "arithmetic.op: max; sum",
        "arithmetic.dtype: float64; int32",
    ]
    assert not list(problems_in_arithmetic(ArithmeticSpec("sum", "int32"), ("float32", "int32")))


@pytest.mark.parametrize(
    ("elements", "window", "expected"),
    [
        (2, 1, []),
        (256, 65536, []),
        (0, 1, ["elements: 0; an even number, 2 .. 256"]),
        (255, 1, ["elements: 255; an even number, 2 .. 256"]),
        (258, 1, ["elements: 258; an even number, 2 .. 256"]),
        (2, 0, ["window: 0; 1 .. 65536 packets"]),
        (2, 65537, ["window: 65537; 1 .. 65536 packets"]),
    ],
)
def test_packets(elements: int, window: int, expected: list[str]) -> None:
    assert [told(each) for each in problems_in_packets(elements, window, 256)] == expected

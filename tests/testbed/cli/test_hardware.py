"""`--card rtl` of `tb run` and `tb hunt`."""

from __future__ import annotations

import pytest

from testbed.cli import main
from testbed.cli.hardware import with_hardware
from workloads.errors import ScenarioError


@pytest.mark.parametrize("program", ["netreduce", "fpga", "rtl"])
def test_a_program_that_a_card_runs_becomes_the_hardware(program: str) -> None:
    given = [f"switch.program={program}", "job.size=1kB"]
    assert with_hardware(given, "tb run") == [*given, "switch.program=rtl"]


def test_another_program_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"--card rtl: a card runs no such program; found switch.program=atp"):
        with_hardware(["switch.program=atp"], "tb run")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--world", "emulated", "--card", "rtl"], "is the card in hardware of the simulated world"),
        (["--world", "simulated", "--card", "fpga0"], "is no card of this world; found fpga0; allowed: rtl"),
        (["--world", "lab", "--card", "rtl"], "means nothing in this world; found rtl"),
    ],
)
def test_cards_of_other_worlds(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "rack", *words]) == 64
    assert f"--card: {problem}" in capsys.readouterr().err


def test_the_card_of_a_run_is_the_switch_program(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def run(scenario: object, args: object, world: object = None) -> int:
        ran.append((scenario, world))
        return 0

    monkeypatch.setattr("testbed.cli.running._run", run)
    assert main(["run", "rack", "--world", "simulated", "--set", "switch.program=fpga", "--card", "rtl"]) == 0
    ((scenario, world),) = ran
    assert (scenario.switch.program, world) == ("rtl", None)


@pytest.mark.parametrize(
    ("words", "overrides"),
    [
        ([], ["switch.program=rtl", "transport.recovery=gbn"]),
        (["rack"], ["switch.program=rtl"]),
        (["--set", "transport.recovery=gbn"], ["transport.recovery=gbn", "switch.program=rtl"]),
    ],
)
def test_a_hunt_draws_what_the_card_can_do(
    words: list[str], overrides: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def prepare(scenario: object, given: list[str], *_: object) -> object:
        asked.append(given)
        raise ScenarioError("as far as this test goes")

    monkeypatch.setattr("testbed.hunt.hunt.prepare", prepare)
    assert main(["hunt", "--card", "rtl", *words]) == 64
    assert asked == [overrides]


def test_a_hunt_in_fabrics_has_no_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hunt", "--card", "rtl", "--fabric"]) == 64
    assert "the card in hardware has no feature FABRIC" in capsys.readouterr().err

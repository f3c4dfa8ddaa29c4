"""`tb card check --rtl`: a card in Verilog that is not ours, sound and with faults."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from switch_nodes.fpga.errors import CardError
from testbed.cli import cardcheck, main
from tests.support.rtl import needs_simulation

_FOREIGN = Path(__file__).resolve().parents[2] / "data" / "foreign_card"
_MAP = _FOREIGN / "pins.yaml"
_FAULTS = {
    "the new iCRC leaves out a byte": ("octet = out[i];", "octet = i == 50 ? 8'd0 : out[i];", "iCRC: expected"),
    "results pass a hole on all connections": ("mask = mask & ~bitmap[slot];", "mask = mask;", "first difference"),
    "duplicates are not counted": (
        "count[C_DUPLICATE] = count[C_DUPLICATE] + 1", "count[C_DUPLICATE] = count[C_DUPLICATE]", "counter duplicate",
    ),
}  # fmt: skip


def test_a_card_written_from_the_contract_passes(capsys):
    needs_simulation()
    assert main(["card", "check", "--rtl", str(_FOREIGN / "card.v"), "--map", str(_MAP), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["operations"]) == ("pass", [["sum", "int32"]])
    cases = document["cases"]
    assert [case["case"]["scenario"] for case in cases[: len(cardcheck.SCENARIOS)]] == list(cardcheck.SCENARIOS)
    assert {case["case"]["mutate"] for case in cases} == {None, 1, 2, 3}
    assert all(case["sums"] > 50 and not case["problems"] for case in cases)


@pytest.mark.minutes
@pytest.mark.parametrize("fault", _FAULTS)
def test_a_fault_in_it_is_found(fault, tmp_path, capsys):
    needs_simulation()
    right, wrong, said = _FAULTS[fault]
    text = (_FOREIGN / "card.v").read_text()
    assert text.count(right) == 1
    path = tmp_path / "card.v"
    path.write_text(text.replace(right, wrong))
    assert main(["card", "check", "--rtl", str(path), "--map", str(_MAP)]) == 1
    out = capsys.readouterr().out
    assert said in out
    assert out.endswith("Verdict: FAIL\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "tb card check: --card: is missing; allowed: an address; or --rtl and --map"),
        (["--rtl", "a.v"], "tb card check: --rtl, --map: need each other"),
        (["--map", "a.yaml"], "tb card check: --rtl, --map: need each other"),
        (["--rtl", "a.v", "--map", "a.yaml", "--card", "unix:/c"], "tb card check: --card: is another card"),
    ],
)
def test_options_that_do_not_go_together(words, problem, capsys):
    assert main(["card", "check", *words]) == 64
    assert problem in capsys.readouterr().err


@pytest.fixture
def silent(monkeypatch):
    """A design whose registers answer at first, and not when it is configured."""

    def dead(*_, **__):
        raise CardError("the design", "the card does not answer", register="STATUS")

    monkeypatch.setattr(cardcheck, "foreign_card", lambda verilog, pins: (None, Path("none")))
    monkeypatch.setattr(cardcheck, "play_simulated", dead)

    def has(*operations):
        identity = SimpleNamespace(operations=operations, serial="x")
        monkeypatch.setattr(cardcheck, "_identity", lambda library: identity)

    return has


def test_a_card_that_cannot_be_configured_is_refuted(silent, capsys):
    silent(("sum", "int32"))
    assert main(["card", "check", "--rtl", "a.v", "--map", "a.yaml"]) == 1
    out = capsys.readouterr().out
    assert "FAIL  rack, int32" in out
    assert "the card does not answer" in out


def test_a_card_without_sums_is_no_card_to_check(silent, capsys):
    silent(("max", "int32"))
    assert main(["card", "check", "--rtl", "a.v", "--map", "a.yaml"]) == 64
    assert "the card sums neither float32 nor int32; found max of int32" in " ".join(capsys.readouterr().err.split())

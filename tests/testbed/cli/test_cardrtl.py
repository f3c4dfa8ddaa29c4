"""`tb card golden --rtl`: verdict, figures, first difference, waveform."""

from __future__ import annotations

import json
from functools import partial

import pytest

from switch_nodes.fpga.rtl.parameters import RtlParameters
from testbed.cli import cardrtl, main
from tests.support.rtl import needs_simulation

RACK = ["card", "golden", "rack", "--rtl", "--set", "job.size=20kB", "--seed", "2"]


@pytest.fixture
def planted(monkeypatch):
    """planted(bug): that bug acts in the hardware; None: none does"""
    needs_simulation()
    build, play = cardrtl.built_library, cardrtl.play_simulated
    monkeypatch.setattr(cardrtl, "built_library", lambda *_, **__: build(RtlParameters(planted=True)))

    def plant(name: str | None) -> None:
        monkeypatch.setattr(cardrtl, "play_simulated", partial(play, plant=name))

    return plant


def test_a_right_card_passes(planted, capsys):
    planted(None)
    assert main([*RACK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["card"]) == ("pass", "the card's hardware, simulated")
    assert document["found"] == document["expected"] > document["sums"] > 0


def test_the_first_difference_has_fields_and_a_waveform(planted, capsys, tmp_path):
    planted("icrc-wrong-byte")
    assert main([*RACK, "--out", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "first difference:" in out
    assert "iCRC: expected" in out
    assert "waveform around cycle" in out
    assert " rx_valid " in (tmp_path / "difference.vcd").read_text()


def test_a_wrong_counter_alone_fails(planted, capsys):
    planted("counter-twice")
    assert main([*RACK, "--mutate", "1"]) == 1
    out = capsys.readouterr().out
    assert "counter duplicate: expected" in out
    assert "first difference" not in out


def test_mutated_traces_pass_through_the_emulated_card_too(capsys):
    assert main(["card", "golden", "rack", "--set", "job.size=20kB", "--mutate", "5"]) == 0
    assert "Verdict: PASS" in capsys.readouterr().out


def test_options_that_do_not_go_together(capsys):
    assert main([*RACK, "--fault", "wrong-sum:1"]) == 64
    assert "--rtl: plays through a simulation in memory" in capsys.readouterr().err

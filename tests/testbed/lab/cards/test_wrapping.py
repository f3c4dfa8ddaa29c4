"""Maps of pins, and somebody else's Verilog behind our proofs."""

from __future__ import annotations

import json
import re

import pytest

from testbed.cli import main
from testbed.lab.cards.wrapping import read_pin_map, wrapped
from tests.support.rtl import needs_simulation
from workloads.errors import ScenarioError

_PINS = (
    "clk", "rst", "rx_valid", "rx_ready", "rx_last", "rx_data", "rx_keep", "tx_valid", "tx_ready", "tx_last",
    "tx_data", "tx_keep", "bus_strobe", "bus_write", "bus_ack", "bus_address", "bus_w_data", "bus_r_data",
)  # fmt: skip


def _map(tmp_path, *, without: str = "", **changes: object):
    path = tmp_path / "pins.yaml"
    pins = {name: f"my_{name}" for name in _PINS if name != without}
    # JSON is YAML.
    path.write_text(json.dumps({"module": "my_card", "width": 64, "ports": 8, "pins": pins, **changes}))
    return path


def test_a_map_connects_each_pin(tmp_path):
    found = read_pin_map(_map(tmp_path, reset="low"))
    assert (found.module, found.width, found.ports, found.resets_low) == ("my_card", 64, 8, True)
    text = wrapped(found, "module my_card(); endmodule")
    assert text.startswith("module my_card(); endmodule\nmodule ina_card (")
    assert ".my_rst(~rst)" in text
    assert ".my_rx_data(rx_data)" in text
    assert "input wire [511:0] rx_data," in text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"without": "tx_keep"}, "pins.tx_keep: is missing"),
        ({"module": "my card"}, "module: wrong value; found 'my card'; allowed: an identifier of Verilog"),
        ({"reset": "off"}, "reset: wrong value"),
        ({"width": 100}, "width of the card's data ports; found 100; allowed: 64, 512"),
        ({"ports": "all"}, "ports: wrong value; found 'all'; allowed: a whole number"),
        ({"pin": {}}, "allowed: a mapping with the keys module, width, ports, reset, pins"),
    ],
)
def test_wrong_maps(tmp_path, change, text):
    with pytest.raises(ScenarioError) as caught:
        read_pin_map(_map(tmp_path, **change))
    assert text in str(caught.value)


def test_another_design_is_judged_as_ours(tmp_path, capsys):
    """Our Verilog under other names."""
    needs_simulation()
    from switch_nodes.fpga.rtl.parameters import RtlParameters
    from switch_nodes.fpga.rtl.simulation.building import card_verilog

    ours = card_verilog(RtlParameters(planted=True))
    design = re.sub(rf"\b(ina_card|{'|'.join(_PINS[2:])})\b", r"my_\1", ours).replace("my_ina_card", "my_card")
    path = tmp_path / "top.v"
    path.write_text(design)
    pins = {name: f"my_{name}" for name in _PINS[2:]} | {"clk": "clk", "rst": "rst", "hash": "hash"}
    pin_map = _map(tmp_path, pins=pins)
    words = ["card", "golden", "rack", "--set", "job.size=20kB", "--rtl", "--verilog", str(path), "--map", str(pin_map)]
    assert main(words) == 0
    assert "Verdict: PASS" in capsys.readouterr().out


def test_a_design_needs_a_map(tmp_path, capsys):
    (tmp_path / "top.v").write_text("module top(); endmodule")
    words = ["card", "golden", "rack", "--set", "job.size=20kB", "--rtl", "--verilog", str(tmp_path / "top.v")]
    assert main(words) == 64
    assert "--verilog, --map: need each other; allowed: both or none" in capsys.readouterr().err


def test_a_design_that_no_tool_takes_is_the_users_fault(tmp_path, capsys):
    needs_simulation()
    (tmp_path / "top.v").write_text("module my_card(input wire my_clk); assign nothing = ; endmodule")
    pins = str(_map(tmp_path))
    words = ["card", "golden", "rack", "--set", "job.size=20kB", "--rtl", "--verilog", str(tmp_path / "top.v")]
    assert main([*words, "--map", pins]) == 64
    assert "top.v: --verilog: cannot be translated; found a verilator that translates this card" in " ".join(
        capsys.readouterr().err.split()
    )

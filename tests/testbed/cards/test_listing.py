import json
from pathlib import Path

from switch_nodes.fpga.regmap import REGISTERS, SECTIONS
from testbed.cards.listing import map_json, map_markdown, map_text, values_json, values_text

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "bring-your-own-fpga.md").read_text(encoding="utf-8")


def test_the_guide_has_the_map_as_it_is():
    """After a change: `./tb card registers --format markdown` between the two marks."""
    begin, end = "<!-- register map -->\n", "<!-- end of register map -->"
    assert GUIDE.split(begin)[1].split(end)[0].strip() == map_markdown().strip()


def test_every_register_of_the_sections_is_listed():
    names = [register.name for _, _, registers in SECTIONS for register in registers]
    for text in (map_text(), map_markdown(), map_json()):
        assert [name for name in names if name not in text] == []
    document = json.loads(map_json())
    assert document["codes"]["command"]["APPLY"] == 2
    assert document["sections"][0]["registers"][0] == {
        "name": "MAGIC", "address": 0, "width": 32, "count": 1, "access": "ro", "reset": 0x494E4143,
        "meaning": REGISTERS["MAGIC"].meaning,
    }  # fmt: skip


def test_values():
    values = [("MAGIC", 0, 0x494E4143)]
    assert values_text(values) == "0x0000  MAGIC                    0x494e4143\n"
    assert json.loads(values_json(values)) == [{"name": "MAGIC", "address": 0, "value": 0x494E4143}]

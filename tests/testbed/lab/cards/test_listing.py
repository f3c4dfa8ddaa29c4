import json
import re
from pathlib import Path

from switch_nodes.config import RingConfig, RingMember, SwitchConfig
from switch_nodes.fpga.faults import fault_words
from switch_nodes.fpga.golden import TimedFrame, reference_outputs
from switch_nodes.fpga.regmap import REGISTERS, SECTIONS
from testbed.lab.agent import backends
from testbed.lab.agent.operations import Operations
from testbed.lab.cards.listing import map_json, map_markdown, map_text, values_json, values_text
from workloads.collectives.ina_header import INA_LAYOUT
from workloads.config import ArithmeticSpec
from workloads.rc.captured import parse_frame
from workloads.wire import OPCODES, opcode_name

GUIDE = (Path(__file__).resolve().parents[4] / "docs" / "bring-your-own-fpga.md").read_text(encoding="utf-8")


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


def _between(begin, end):
    return GUIDE.split(begin)[1].split(end)[0]


def test_the_example_of_the_guide_is_what_the_reference_program_does():
    frames = {"in": [], "out": []}
    for block in re.findall(
        r"(in|out) +port (\d): +((?:[0-9a-f]+\s+)+)", _between("<!-- example -->", "## What a card")
    ):
        frames[block[0]].append((int(block[1]), bytes.fromhex(block[2])))
    members = tuple(RingMember(rank, bytes((10, 0, 0, rank + 1)), rank) for rank in range(2))
    ring = RingConfig(7, members, ArithmeticSpec("sum", "int32"), message_packets=1, window_messages=1, path_mtu=256)
    macs = tuple((bytes((2, 0, 0, 0, 0, port + 1)), port) for port in range(2))
    config = SwitchConfig("s1", "netreduce", 2, macs=macs, rings=(ring,))
    inputs = [TimedFrame(port, 0, frame) for port, frame in frames["in"]]
    assert [(output.step, output.port, output.frame) for output in reference_outputs(config, inputs)] == [
        (1, port, frame) for port, frame in frames["out"]
    ]
    assert [parse_frame(frame).icrc_valid for kind in frames.values() for _, frame in kind] == [True] * 4


def test_the_guide_has_every_opcode_that_is_summed():
    table = next(part for part in _between("## Packet format", "The INA header").split("\n\n") if "| opcode |" in part)
    codes, _, names, reth, imm = ([cell.strip() for cell in line.split("|")[2:-1]] for line in table.splitlines())
    found, kind = {}, ""
    for code, name, *extensions in zip(codes, names, reth, imm, strict=True):
        kind = name.split()[0] if " " in name and name.split()[0] in ("SEND", "WRITE") else kind
        words = [kind, *(word.upper() for word in name.split() if word != kind)]
        found[int(code, 16)] = ("_".join(words), [extension == "yes" for extension in extensions])
    assert found == {
        code: (opcode_name(code), ["reth" in info.extensions, "imm" in info.extensions])
        for code, info in OPCODES.items()
        if code < 0x20 and info.is_request
    }


def test_the_guide_has_the_ina_header():
    section = _between("The INA header, 16 bytes", "Message 0 may be")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if re.match(r"\| \d", line)
    ]
    assert sum(int(size) for _, size, *_ in rows) == INA_LAYOUT.size
    assert [int(offset) for offset, *_ in rows] == [sum(int(row[1]) for row in rows[:at]) for at in range(len(rows))]
    names = {field.name for field in INA_LAYOUT.fields}
    told = set(re.findall(r"[a-z_]+", section))
    assert names <= told


def test_the_guide_has_every_operation_of_the_agent_and_every_verb(tmp_path):
    section = _between("<!-- operations -->", "<!-- end of operations -->")
    named = {
        word
        for line in section.splitlines()
        for word in re.findall(r"`([a-z]+)`", line.split("|")[1] if "|" in line else "")
    }
    operations = Operations(tmp_path, "v", {}, lambda message: [])
    assert named == {kind.op for kind in operations._acts}
    verbs = _between("Verbs of `card`: ", "Any of them")
    code = Path(backends.__file__).read_text(encoding="utf-8")
    assert [verb for verb in re.findall(r'case "([a-z]+)"', code) if f"`{verb}`" not in verbs] == []


def test_the_guide_has_every_fault():
    assert [word for word in fault_words() if f"| `{word}` |" not in GUIDE] == []

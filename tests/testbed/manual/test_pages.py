"""The parts of pages that are made from the code, held against other ways to the same facts."""

from __future__ import annotations

import json
import re
from argparse import SUPPRESS
from pathlib import Path

import pytest

from switch_nodes.fpga.regmap import REGISTERS
from testbed.cli.commands import COMMANDS
from testbed.cli.parsing import make_parser
from testbed.comparison.figures import flat_figures
from testbed.faults.kinds import FAULT_KINDS
from testbed.history.eventkinds import event_kinds
from testbed.manual.__main__ import main
from testbed.manual.pages import PARTS, filled
from testbed.scenario.schema import scenario_schema

_TOP = Path(__file__).resolve().parents[3]


def _section(text: str, heading: str) -> str:
    return re.split(r"^#+ ", text.split(f" {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.fixture(scope="module")
def commands() -> str:
    return PARTS["commands"]()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_the_help_is_listed(commands: str, name: str) -> None:
    hidden = {
        option for action in _parser(name)._actions if action.help == SUPPRESS for option in action.option_strings
    }
    options = {option for option in _parser(name).options() if option.startswith("--")} - hidden
    text = f"\n{commands}".split(f"\n## tb {name}\n")[1].split("\n## ")[0]
    everywhere = {"--help", "--quiet", "--verbose", "--no-color"}
    assert [option for option in sorted(options - everywhere) if f"`{option}" not in text] == []


def _parser(name: str):  # type: ignore[no-untyped-def]
    return next(iter(make_parser(name)._subparsers._group_actions)).choices[name]  # type: ignore[union-attr]


def test_a_command_shows_values_defaults_and_choices(commands: str) -> None:
    run = commands.split("\n## tb run\n")[1].split("\n## ")[0]
    assert "tb run SCENARIO [--world WORLD]" in run
    assert "| `SCENARIO` | required |" in run
    demo = commands.split("\n## tb sweep\n")[0]
    assert "| `--hosts N` | `4` |" in demo
    assert "| `--no-twin` |  | emulated" in demo, "no value, and so no default"


def _part(commands: str, name: str) -> str:
    return f"\n{commands}".split(f"\n## tb {name}\n")[1].split("\n## ")[0]


def test_hidden_options_are_in_no_table_and_no_usage(commands: str) -> None:
    assert "==SUPPRESS==" not in commands
    assert "--nthreads" not in _part(commands, "perf")


def test_an_empty_default_is_no_default(commands: str) -> None:
    assert "| `--protocol P,P` |  | each of them" in _part(commands, "perf")


def test_defaults_with_a_unit_are_written_with_it(commands: str) -> None:
    train = _part(commands, "train")
    assert "| `--memory SIZE` | `256MiB` |" in train
    assert "| `--timeout TIME` | `60s` |" in train
    assert "| `--limit TIME` | `60min` |" in _part(commands, "shell"), "text already"
    assert re.findall(r"\| `\d{7,}` \|", commands) == []


def test_pages_that_a_text_of_the_terminal_names_are_links(commands: str) -> None:
    assert "; [time](time.md) |" in _part(commands, "run")
    assert _part(commands, "worker").endswith("\nPages: [switch-node](switch-node.md), [verbs](verbs.md).\n")
    assert "Pages:" not in _part(commands, "sweep"), "its text names none"
    assert "critical path ([jct-parts](jct-parts.md));" in PARTS["figures"]()


def test_faults_on_links_share_no_key_that_differs_between_kinds() -> None:
    shared = set(re.findall(r"^\| `(\w+)`", PARTS["keys of LinkFault"](), re.MULTILINE))
    assert shared == {"name", "from", "until", "links", "direction"}
    assert "| `rate` | required |" in _section(PARTS["faults"](), "loss")
    assert "| `match` |" in _section(PARTS["faults"](), "loss")
    assert "| `match` |" not in _section(PARTS["faults"](), "rate_change")


def test_a_usage_has_what_the_parser_does_not_read(commands: str) -> None:
    assert re.search(r"^tb train SCENARIO .* -- COMMAND \.\.\.$", commands, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "argument"), [("lab", "NAME ..."), ("test", "PYTEST_ARG ..."), ("sweep", "TARGET ...")]
)
def test_a_list_that_may_be_empty_is_not_required(commands: str, name: str, argument: str) -> None:
    part = _part(commands, name)
    assert f"| `{argument}` |  |" in part
    assert f" [{argument}]" in part
    assert "| `RUN_DIR ...` | required |" in _part(commands, "compare")


def test_an_option_whose_value_may_be_absent_shows_it(commands: str) -> None:
    assert "[--plan-only [TABLES]]" in _part(commands, "bench")


def test_allowed_words_are_all_named_or_none(commands: str) -> None:
    assert "allowed: float32, int32" in _part(commands, "fingerprint")
    assert "allowed" not in next(line for line in _part(commands, "perf").splitlines() if "`--op sum" in line)


def test_every_event_has_its_fields() -> None:
    text = PARTS["events"]()
    assert len(re.findall(r"^### ", text, re.MULTILINE)) >= 95
    struck = _section(text, "FaultStruck")
    assert "| `fault` | `str` |" in struck
    missing = [name for name in event_kinds() if f"\n### {name}\n" not in f"\n{text}"]
    assert set(missing) <= {"Event"}, "the base of all"


def test_every_figure_of_a_result_is_listed() -> None:
    text = PARTS["figures"]()
    document = json.loads(next(iter(_results())))
    names = {name for name in flat_figures(document) if not name.startswith(("faults.", "checks."))}
    names = {re.sub(r"^(jct\.workers_ns)\.[^.]+", r"\1.NAME", name) for name in names}
    assert "jct_s" in names
    listed = set(re.findall(r"^\| `([^`]+)`", text, re.MULTILINE))
    # Names such as reasons and links are those of the run: their parent is listed.
    assert [name for name in sorted(names) if name not in listed and name.rpartition(".")[0] not in listed] == []
    assert "| `goodput_bps` | number or null | bit/s |" in text


def _results() -> list[str]:
    import tempfile

    import testbed as tb

    with tempfile.TemporaryDirectory() as folder:
        made = tb.run("rack-lossy", set={"job.size": "40kB"}, world="simulated", out=Path(folder) / "run")
        return [json.dumps(dict(made.document))]


def test_every_register_of_the_first_records_is_listed() -> None:
    text = PARTS["registers"]()
    for register in REGISTERS.registers:
        if register.address < 0x1000:
            assert re.search(rf"^\| {register.address:#06x} \| `{register.name}(?:\[\d+\])?` \|", text, re.MULTILINE)


def test_every_kind_of_fault_has_the_keys_of_the_schema() -> None:
    text = PARTS["faults"]()
    sections, common = scenario_schema()["$defs"], {"kind", "name", "links", "direction", "from", "until"}
    for word, kind in FAULT_KINDS.items():
        keys = set(sections[kind.value.__name__]["properties"]) - common
        section = f"\n{text}".split(f"\n### {word}\n")[1].split("\n### ")[0]
        assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == keys, word


def test_keys_say_their_values() -> None:
    text = PARTS["keys of Scenario"]()
    assert "| `world` | `emulated` | emulated, simulated, lab |" in text
    assert "| a whole number from 0 to 9223372036854775807 |" in text
    assert re.search(r"^\| `slowdown` \| none \| a number from", PARTS["keys of Straggler"](), re.MULTILINE)
    assert re.search(r"^\| `faults` \| none \| a list \|", text, re.MULTILINE)


def test_exit_codes_are_those_of_the_errors() -> None:
    text = PARTS["exit codes"]()
    codes = re.findall(r"^\| `(\d+)` \| `?(\w+)", text, re.MULTILINE)
    assert codes == [
        ("0", "pass"), ("1", "fail"), ("2", "unknown"), ("3", "HostCapabilityError"), ("64", "ScenarioError"),
        ("70", "InternalError"), ("75", "LabError"), ("130", "interrupted"),
    ]  # fmt: skip
    assert "`file`, `key`, `line`, `found`, `allowed`, `hint`" in _section(PARTS["errors"](), "ScenarioError")


@pytest.mark.parametrize("name", PARTS)
def test_tables_are_whole(name: str) -> None:
    """Cells hold no border, and no line is cut."""
    text = PARTS[name]()
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        lines = block.splitlines()
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert len(counts) == 1, lines[0]


def test_a_part_that_is_not_known_is_refused() -> None:
    assert filled("# A\n") == "# A\n"
    with pytest.raises(KeyError):
        filled("<!-- generated: nothing -->\n")


def test_a_page_is_printed_with_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors"]) == 0
    assert "| `64` | `ScenarioError` |" in capsys.readouterr().out
    assert main(["nothing"]) == 64
    assert "pages: accelerator, " in capsys.readouterr().err

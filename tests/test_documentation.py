"""The documentation names what is there, and its examples run."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.registry import create_program
from testbed.bench import registry
from testbed.checkers import checkers
from testbed.cli.commands import COMMANDS
from testbed.cli.parsing import make_parser
from testbed.faults.base import Match
from testbed.faults.kinds import FAULT_KINDS
from testbed.faults.opcodes import OPCODE_GROUPS
from testbed.manual.pages import PARTS, filled
from testbed.plan.nodeconfig import parse_node_config
from testbed.protocols.grid import hunt as grid_hunt
from testbed.reading.sections import keys_of, names_of
from testbed.scenario import builtin_names, load_scenario, parse_scenario
from testbed.scenario.keys.job import JobEntry
from testbed.scenario.keys.topology_keys import CustomLink, CustomNode
from testbed.scenario.keys.topology_kinds import TOPOLOGY_KINDS
from testbed.scenario.keys.transport import DcqcnOptions
from testbed.scenario.protocols import names
from testbed.scenario.protocols.known import names_where
from testbed.scenario.protocols.names import NODE_ROLES
from testbed.scenario.protocols.protocol import KeyGroup
from testbed.worlds.simulated.clock import INSTANTS
from tests.support.guide import named_files
from workloads.atp import AtpConfig
from workloads.datagrams import blocks
from workloads.server import ServerConfig
from workloads.wire.aggregation import DatagramKind

pytestmark = pytest.mark.protocols("all")

_TOP = Path(__file__).resolve().parents[1]
_SCENARIO = (_TOP / "docs" / "scenario.md").read_text(encoding="utf-8")
_JOBS = (_TOP / "docs" / "jobs.md").read_text(encoding="utf-8")
_CONGESTION = (_TOP / "docs" / "congestion.md").read_text(encoding="utf-8")
_EXTENDING = (_TOP / "docs" / "extending.md").read_text(encoding="utf-8")
_README = (_TOP / "README.md").read_text(encoding="utf-8")


_PAGES = [_TOP / "README.md", *sorted((_TOP / "docs").glob("*.md"))]
_KEYS = filled((_TOP / "docs" / "scenario-keys.md").read_text(encoding="utf-8"))
_OF_PROTOCOLS = [_TOP / "README.md"] + [
    _TOP / "docs" / f"{name}.md" for name in ("atp", "esa", "switchml", "jobs", "programs", "ina-comparison", "hunting")
]


def _section(heading: str) -> str:
    """Of the page of keys; that of faults with the kinds of faults."""
    more = {"faults": filled(_page("fault-kinds")), "jobs": _section("job") if heading == "jobs" else ""}
    return _KEYS.split(f"\n## {heading}\n")[1].split("\n## ")[0] + more.get(heading, "")


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("topology", list(TOPOLOGY_KINDS)),
        ("topology", sorted({key for kind in TOPOLOGY_KINDS.values() for key in names_of(kind.keys)})),
        ("topology", [*names_of(CustomNode), *names_of(CustomLink), *NODE_ROLES]),
        ("jobs", names_of(JobEntry)),
        ("faults", [*names_of(Match), *OPCODE_GROUPS]),
        ("faults", sorted({key for kind in FAULT_KINDS.values() for key in names_of(kind.value)})),
    ],
)
def test_every_key_is_explained(heading, keys):
    assert [key for key in keys if f"`{key}`" not in _section(heading)] == []


def test_every_part_that_is_made_from_the_code_is_on_one_page():
    markers = [
        name
        for path in _PAGES
        for name in re.findall(r"^<!-- generated: (.*) -->$", path.read_text(encoding="utf-8"), re.M)
    ]
    assert sorted(markers) == sorted(PARTS)


@pytest.mark.protocols("esa")
def test_the_knobs_of_esa_have_the_defaults_of_the_program():
    told = dict(_defaults(_page("esa")))
    for key in keys_of(AggregatorKnobs):
        assert yaml.safe_load(told[key.name].strip("`")) == key.default, key.name


def _defaults(text: str) -> Iterator[tuple[str, str]]:
    """(key, what stands beside it) of tables with a column of defaults."""
    for table in re.findall(r"^\| (?:key|knob) \| default \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.MULTILINE):
        for row in table.splitlines():
            key, default = (cell.strip() for cell in row.split("|")[1:3])
            if re.fullmatch(r"`\w+`", key):
                yield key.strip("`"), default


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("switch", [*names.PROGRAMS, *names.RELEASES, *names.GATES, *names.COMMODITY_KINDS]),
        ("transport", [*names.VERBS, *names.FRAMINGS, *names.CONGESTION_CONTROLS]),
        ("job", [*names.PROTOCOLS, *names.WORKLOADS, *names.DTYPES, *names.OPS, *names.CREDITS, *names.FALLBACKS]),
        ("job", list(names.PRIORITIES)),
        ("routing", [*names.RATE_MODES, *names.ON_COLLISION]),
    ],
)
def test_every_word_is_explained(heading, words):
    rows = "\n".join(line for line in _section(heading).splitlines() if line.startswith(("| `", "| [`")))
    assert [word for word in words if f"`{word}`" not in rows] == []


@pytest.mark.parametrize("key", ["rto", "window_packets", "model", "layers", "compute", "arrival"])
def test_keys_of_datagrams_name_every_collective_that_takes_them(key):
    """All are refused with other collectives, and taken with these."""
    row = re.search(rf"^\| `{key}` \|.*$", _KEYS, re.MULTILINE).group()
    assert [
        word for word in names_where(lambda each: KeyGroup.LAYERS in each.optional_keys()) if f"`{word}`" not in row
    ] == []


def test_every_event_of_switches_and_servers_is_explained():
    text = "".join(page.read_text(encoding="utf-8") for page in _PAGES)
    assert [name for name in blocks.__all__ if f"`{name}`" not in text] == []


def test_every_kind_of_packet_is_explained():
    text = (_TOP / "docs" / "programs.md").read_text(encoding="utf-8")
    rows = text.split("\n## Packets\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([A-Z_]+)` \|", rows, re.MULTILINE) == [kind.name for kind in DatagramKind]


def test_the_fields_of_memory_at_end_are_in_the_order_of_the_code():
    text = (_TOP / "docs" / "programs.md").read_text(encoding="utf-8")
    row = re.search(r"^\| `MemoryAtEnd` \|([^|]*)\|", text, re.MULTILINE).group(1)
    assert re.findall(r"`(\w+)`", row) == [field.name for field in dataclasses.fields(blocks.MemoryAtEnd)]


def test_every_page_is_linked_from_the_readme_or_another_page():
    pages = {page.name for page in _PAGES[1:]}
    linked = {
        name
        for page in _PAGES
        for name in re.findall(r"\((?:docs/)?([a-z0-9-]+\.md)", page.read_text(encoding="utf-8"))
        if name != page.name
    }
    assert not pages - linked


def test_the_help_of_bench_names_every_bench():
    commands = next(iter(make_parser("bench")._subparsers._group_actions)).choices
    words = re.search(r"^  NAME +(.*?)\n\n", commands["bench"].format_help(), re.DOTALL | re.MULTILINE).group(1)
    assert re.findall(r"\w+", words) == list(registry.benches())


def test_every_figure_of_jobs_is_explained():
    schema = json.loads((_TOP / "testbed" / "report" / "result.schema.json").read_text(encoding="utf-8"))
    jobs = schema["$defs"]["jobs"]["properties"]
    assert [key for key in (*jobs, *jobs["each"]["items"]["properties"]) if f"`{key}`" not in _JOBS] == []


def _page(name: str) -> str:
    return (_TOP / "docs" / f"{name}.md").read_text(encoding="utf-8")


def _command_lines() -> Iterator[str]:
    for path in _OF_PROTOCOLS:
        for block in re.findall(r"^```\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                yield from re.findall(r"(?:^|  )(?:sudo )?(\./tb .*?)(?=  |$)", line)


@pytest.mark.protocols("all")
def test_the_commands_of_the_pages_on_protocols_can_be_given():
    """Options are known, and scenarios load with what is set."""
    loaded = 0
    for line in sorted(set(_command_lines())):
        words = shlex.split(line.partition(" -- ")[0])[1:]  # what ranks run is theirs
        args = make_parser(words[0]).parse_args(words)
        scenario = getattr(args, "scenario", None)
        if words[0] in ("run", "validate", "hunt") and scenario in builtin_names():
            changes = [change for change in args.overrides if ".py:" not in change] if words[0] != "validate" else []
            load_scenario(scenario, changes)
            loaded += 1
    assert loaded >= 12


def test_every_key_of_congestion_control_is_explained():
    assert [key for key in names_of(DcqcnOptions) if f"`{key}`" not in _CONGESTION] == []


def test_the_examples_of_scenario_files_load():
    texts = re.findall(
        r"```yaml\n(name: .*?)```", _SCENARIO + _page("tutorial-scenario") + _CONGESTION + _JOBS, re.DOTALL
    )
    assert len(texts) >= 4
    for text in texts:
        parse_scenario(text, "example.yaml")


def test_scenarios_of_one_world_are_named():
    text = _page("built-in-scenarios").split("\n| ")[0]
    of_one = {name: worlds for name in builtin_names() if len(worlds := load_scenario(name).worlds) == 1}
    told = {
        name: (world,)
        for world in names.WORLDS
        for part in re.findall(rf"((?:`[\w-]+`(?:,| and)? )+)(?:is|are) {world} only", text)
        for name in re.findall(r"`([\w-]+)`", part)
    }
    assert told == of_one


def test_every_check_and_figure_is_explained():
    """Figures on their own page."""
    schema = json.loads((_TOP / "testbed" / "report" / "result.schema.json").read_text(encoding="utf-8"))
    names_of_checks = [each.name for each in checkers()]
    for text, wanted in (
        (_page("verdicts"), [*names_of_checks, *schema["properties"]]),
        (filled(_page("figures")), [*names_of_checks, *schema["properties"]["metrics"]["properties"]]),
    ):
        known = set(re.findall(r"`(\w+)[`.\[]", text))
        assert [name for name in wanted if name not in known] == []


def test_the_planners_that_are_not_hunted_are_named():
    left_out = set(names.PLANNERS) - set(grid_hunt._PLANNERS)
    told = re.search(r"all planners but (.*?), capacities", _page("hunting")).group(1)
    assert set(re.findall(r"`([\w-]+)`", told)) == left_out


def test_the_architecture_names_every_module_beside_packages():
    text = _page("architecture")
    files = [file for folder in ("workloads", "switch_nodes") for file in (_TOP / folder).glob("[a-z]*.py")]
    assert [file.name for file in files if f"{file.name}`" not in text] == []


def test_every_command_is_explained():
    assert [name for name in COMMANDS if f"`tb {name}" not in _page("commands")] == []


def test_scenarios_that_pages_name_are_built_in():
    named = {
        name
        for path in _PAGES
        for name in re.findall(r"tb (?:run|validate) ([a-z][a-z0-9-]+)(?![\w.*/-])", path.read_text(encoding="utf-8"))
    }
    assert named <= set(builtin_names())
    assert len(named) >= 30


def test_the_run_of_the_readme_prints_what_it_shows(tmp_path):
    """`...` stands for lines left out; each part stands in the output as it is, in that order."""
    command, sample = re.search(r"\n\./tb (run .*?)  +#.*?```.*?\n```\n(Checks\n.*?)```", _README, re.DOTALL).groups()
    words = [sys.executable, "-P", "-m", "testbed", *shlex.split(command), "--out", "run"]
    environment = {**os.environ, "PYTHONPATH": str(_TOP), "COLUMNS": "100"}
    run = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True)
    printed = run.stdout
    for part in sample.split("...\n"):
        assert part in printed
        printed = printed.split(part, 1)[1]


def test_the_readme_is_short():
    assert len(_README.splitlines()) <= 80


def test_the_timeline_that_the_page_shows_is_one_that_is_drawn():
    """A golden text holds what `tb timeline` draws of that run."""
    sample = re.findall(r"```\n(.*?)```", _page("timeline"), re.DOTALL)[-1]
    drawn = _TOP / "tests" / "testbed" / "report" / "timeline" / "one-lost-packet.txt"
    assert len(sample.splitlines()) > 5
    assert sample in drawn.read_text(encoding="utf-8")


def test_the_times_that_clocks_change_are_named():
    page = " ".join(_page("simulation").split())
    told = re.search(r"Times that a Machine writes into its events \(fields of (.*?)\)", page).group(1)
    assert set(re.findall(r"`(\w+)`", told)) == {kind.__name__ for kind in INSTANTS}


def test_the_files_of_nodes_are_read():
    """Up to the interfaces, which are not there."""
    files = re.findall(r"```yaml\n(.*?)```", _page("switch-node"), re.DOTALL)
    assert len(files) == 4
    rings, worker, server, jobs = files
    assert [ring.ring_id for ring in _node(rings, SwitchConfig, {"program": "netreduce", "ports": 2}).rings] == [1]
    assert _node(worker, AtpConfig, {}).window == _node(server, ServerConfig, {}).jobs[0].window
    assert _node(jobs, SwitchConfig, {"program": "atp", "ports": 3}).jobs[0].server.port == 2


def _node(text: str, kind: Any, preset: dict[str, Any]) -> Any:
    return parse_node_config(text, "example.yaml", kind, preset)


@pytest.mark.parametrize("path", _PAGES, ids=lambda path: path.name)
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(path):
    for table in re.findall(r"(?:^\|.*\n)+", path.read_text(encoding="utf-8"), re.MULTILINE):
        head, *rows = table.splitlines()
        assert [row for row in rows if _cells(row) != _cells(head)] == [], head


def _cells(row: str) -> int:
    """`\\|` is no border."""
    return len(re.findall(r"(?<!\\)\|", row))


def test_the_program_of_the_guide_runs(tmp_path):
    text = next(
        block for block in re.findall(r"```python\n(.*?)```", _EXTENDING, re.DOTALL) if "OpcodeCounter" in block
    )
    (tmp_path / "counter.py").write_text(text, encoding="utf-8")
    program = create_program(SwitchConfig("s1", f"{tmp_path / 'counter.py'}:OpcodeCounter", 2))
    program.receive_frame(0, bytes(range(60)), 0)
    assert [port for port, _ in program.frames_to_send(0)] == [1]
    program.finish(1)
    names = []
    while (event := program.next_event()) is not None:
        names.append(type(event).__name__)
    assert names == ["SwitchStatistics", "OpcodesSeen"]


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", filled(path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_to_headings():
    for path in _PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", path.read_text(encoding="utf-8")):
            aim = path.parent / target if target else path
            assert anchor in _anchors(aim), f"{path.name}: {target}#{anchor}"


def test_links_between_documents_lead_somewhere():
    for path in [_TOP / "README.md", *(_TOP / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


_FOLDERS = "testbed|workloads|switch_nodes|topologies|tests|playbooks|benchmarks"


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_the_files_and_names_of_code_that_a_page_mentions_are_there(page):
    text = page.read_text(encoding="utf-8")
    files = re.findall(rf"`((?:{_FOLDERS})/[\w/.-]+)`", text)
    to_be_written = named_files(text)
    missing = [
        name for name in files if not (_TOP / name).exists() and "NAME" not in name and name not in to_be_written
    ]
    placed = re.findall(r"`(_?[A-Za-z_]+)`\s+\(`((?:\w+/)+\w+\.py)`\)", text)
    missing += [f"{name} in {file}" for name, file in placed if not _holds(_TOP / file, name)]
    dotted = re.findall(rf"`((?:{_FOLDERS})(?:\.\w+)+)`", text)
    missing += [name for name in dotted if not _is_reached(name)]
    assert missing == []


def _holds(file: Path, name: str) -> bool:
    return file.exists() and re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) is not None


def _is_reached(dotted: str) -> bool:
    """A module, or a name in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        place = _TOP.joinpath(*parts[:length])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.exists():
                return all(_holds(file, name) for name in parts[length:])
    return False


def test_what_knows_no_program_by_name_knows_none():
    """As docs/programs.md says."""
    words = "|".join(names.PROGRAMS)
    found = [
        f"{file.relative_to(_TOP)}: {word}"
        for folder in ("switch_nodes/dataplane", "testbed/faults")
        for file in (_TOP / folder).rglob("*.py")
        for word in re.findall(rf"[\"']({words})[\"']", file.read_text(encoding="utf-8"))
    ]
    assert found == []

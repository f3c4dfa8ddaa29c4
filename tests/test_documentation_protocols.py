"""The pages of protocols, switches, cards and labs tell what the code has: reasons, planners, actions, limits,
scenarios."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from switch_nodes.aggregators import tables as aggregators
from switch_nodes.fpga.datagrams import MAX_BYTES
from switch_nodes.fpga.faults import fault_words
from switch_nodes.fpga.regmap import CONFIGURATION, MAX_MACS, MAX_PORTS, MAX_RINGS
from switch_nodes.grid import tables as grid
from switch_nodes.netreduce import tables as netreduce
from switch_nodes.steering.steer import steering_rules
from switch_nodes.switchml import tables as switchml
from testbed.cli.parsing import make_parser
from testbed.interop.cases import Case, choose_cases
from testbed.lab.agent.leases import MAX_SECONDS
from testbed.lab.agent.protocol import MAX_LINE
from testbed.plan import make_plan as plan_of
from testbed.plan.gradient_routes import problem_of
from testbed.scenario import builtin_names, load_scenario
from testbed.sweeps.model import MAX_TASKS
from testbed.sweeps.parameters import algorithms_of
from testbed.worlds.lab.placing import PROGRAMS
from topologies import MAX_HOSTS
from topologies.routing.gradients import goat
from topologies.routing.gradients.pathwise import MOST_ARC_FLOWS
from topologies.routing.gradients.planners import PLANNERS, make_plan
from workloads.automaton import UNFORESEEN
from workloads.collectives.ina_header import MAX_GROUP, MAX_MEMBERS, MIN_GROUP
from workloads.datagrams.priority import PRIORITIES
from workloads.datagrams.problems import MAX_INDICES, MAX_WORKERS
from workloads.server import tables as server
from workloads.wire.aggregation import MAX_ELEMENTS, MAX_GRID_ELEMENTS

pytestmark = pytest.mark.protocols("all")

_TOP = Path(__file__).resolve().parents[1]
_PAGES = (
    "netreduce", "workloads", "roce", "dataplane", "congestion", "steering", "accelerator", "hierarchical", "switchml",
    "atp",
    "esa", "routing", "ina-comparison", "scale", "lab", "bring-your-own-fpga", "interop", "verbs",
)  # fmt: skip
_DRAWS = {"grid-eq1"}
"""planners whose figure depends on the seed"""


def _page(name: str) -> str:
    return (_TOP / "docs" / f"{name}.md").read_text(encoding="utf-8")


def _rows(name: str, head: str) -> list[list[str]]:
    """Cells of the table whose first line begins with `head`."""
    (table,) = re.findall(rf"^{re.escape(head)}.*\n\|[-| ]+\n((?:\|.*\n)+)", _page(name), re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]


@pytest.mark.parametrize("name", _PAGES)
def test_the_files_that_a_page_names_are_there(name):
    named = re.findall(r"`((?:[\w-]+/)+[\w.-]*\.(?:py|c|h|sh|yaml))`", _page(name))
    assert [path for path in named if not (_TOP / path).exists()] == []


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("netreduce", netreduce.DROP_REASONS),
        ("switchml", switchml.DROP_REASONS),
        ("atp", aggregators.DROP_REASONS),
        ("atp", server.DROP_REASONS),
        ("esa", {}),
        ("routing", grid.DROP_REASONS),
    ],
)
def test_every_reason_to_drop_a_packet_is_named(name, reasons):
    text = _page(name)
    assert [reason for reason in reasons.values() if f"`{reason}`" not in text] == []
    assert f"`{UNFORESEEN}`" in text


def test_the_reasons_of_netreduce_have_a_table():
    told = {cell.strip("`") for cell, _ in _rows("netreduce", "| reason in `PacketIgnored` |")}
    assert told == {*netreduce.DROP_REASONS.values(), "ahead"}


def _planner_rows() -> dict[str, str]:
    """Planner -> its figure, where one row tells of several as well."""
    rows = {}
    for planners, _, figures in _rows("routing", "| planner |"):
        names = re.findall(r"`([\w-]+)`", planners)
        rows |= dict(zip(names, figures.split(", ") if len(names) > 1 else [figures], strict=True))
    return rows


def test_every_planner_is_in_the_table():
    assert set(_planner_rows()) == set(PLANNERS)


@pytest.mark.parametrize("planner", sorted(set(PLANNERS) - _DRAWS))
def test_the_figures_of_planners_are_those_of_the_example(planner):
    problem = problem_of(load_scenario("grid-triangle"), None)
    plan = make_plan(problem, planner, np.random.default_rng(1))
    assert plan.min_rate_bps / 1e7 == pytest.approx(float(_planner_rows()[planner]), rel=1e-6)


def test_planners_that_know_one_server_are_named():
    names = sorted(name for name, planner in PLANNERS.items() if not planner.several_servers)
    (told,) = re.findall(r"^(.*) know one server, and refuse more", _page("routing"), re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", told)) == names


def _choices(command: str) -> set[str]:
    """Words that may stand behind `tb COMMAND`."""
    positional = [action for action in make_parser(command)._actions if not action.option_strings]
    (parser,) = [action.choices[command] for action in positional if isinstance(action.choices, dict)]
    return {word for action in parser._actions if not action.option_strings for word in action.choices or ()}


def test_every_action_of_labs_is_in_the_table():
    told = " ".join(row[0] for row in _rows("lab", "| command | does |"))
    assert [action for action in _choices("lab") if not re.search(rf"\b{action}\b", told)] == []


def test_every_action_of_cards_is_told():
    text = _page("bring-your-own-fpga") + _page("rtl")
    assert [action for action in _choices("card") if f"tb card {action}" not in text] == []


def test_every_fault_of_emulated_cards_is_in_the_table():
    assert [row[0].strip("`") for row in _rows("bring-your-own-fpga", "| `--fault` |")] == list(fault_words())


def test_what_a_lab_runs_is_told():
    text = _page("lab")
    assert f"program {' or '.join(f'`{name}`' for name in PROGRAMS)}" in text
    assert MAX_SECONDS == 7 * 24 * 3600
    assert "at most 7 days" in text
    assert "at most 7 days" in _page("bring-your-own-fpga")
    assert f"At most {MAX_LINE >> 20} MiB each" in _page("bring-your-own-fpga")


def test_every_rule_of_the_commodity_switch_is_in_the_table():
    (config,) = [switch.steering for switch in plan_of(load_scenario("accelerator")).switches if switch.steering]
    told = {
        (int(priority), re.sub(r"\d+", "", name.split("`")[1]))
        for priority, name, *_ in _rows("accelerator", "| priority |")
    }
    assert {(rule.priority, re.sub(r"\d+", "", rule.name)) for rule in steering_rules(config)} == told


@pytest.mark.parametrize(
    ("start", "pages"),
    [
        ("accelerator", ("accelerator", "steering")),
        ("spine-leaf", ("netreduce", "steering")),
        ("hierarchical", ("hierarchical",)),
        ("switchml", ("switchml",)),
        ("atp", ("atp",)),
        ("esa", ("esa",)),
        ("grid", ("routing",)),
        ("congested", ("congestion",)),
    ],
)
def test_every_scenario_of_a_protocol_is_named(start, pages):
    """`-value-lost` beside `spine-leaf` names `spine-leaf-value-lost`."""
    text = "".join(map(_page, pages))
    names = [name for name in builtin_names() if name == start or name.startswith(f"{start}-")]
    short = {name: name.removeprefix(start) for name in names}
    assert [
        name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", text) and f"`{short[name]}`" not in text
    ] == []


def test_the_algorithms_of_sweeps_are_told():
    machines, rack = _rows("scale", "| of machines | of a rack |")[-1]
    assert set(algorithms_of("machines", "flow")) <= set(re.findall(r"\w+", machines))
    for model, told in re.findall(r"((?:`\w+`(?:, )?)+): ([^;]*)", rack):
        for each in re.findall(r"`(\w+)`", model):
            assert set(re.findall(r"\w+", told)) == set(algorithms_of("rack", each)), each
    assert f"{MAX_TASKS:,} points times algorithms" in _page("scale")
    assert f"racks of up to {MAX_HOSTS} hosts" in _page("scale")


def test_every_group_of_interop_cases_is_in_the_table():
    groups = {case.id.split("/")[0] for case in choose_cases(())}
    assert {row[0].strip("`").removesuffix("/*") for row in _rows("interop", "| group |")} == groups


def test_the_controls_of_interop_are_told():
    told = {row[0].strip("`"): row[2].strip("`") for row in _rows("interop", "| control |")}
    assert told == {
        case.id.split("/")[1]: case.must_fail for case in choose_cases(("control/*",)) if isinstance(case, Case)
    }


def test_every_rule_of_priority_is_in_the_table():
    assert [row[0].strip("`") for row in _rows("esa", "| rule | x:")] == list(PRIORITIES)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("switchml", f"{MAX_WORKERS} workers (the bitmap), {MAX_ELEMENTS} elements per packet"),
        ("switchml", f"up to {MAX_ELEMENTS} elements ([GRID](routing.md#in-the-network): {MAX_GRID_ELEMENTS})"),
        (
            "atp",
            (
                f"{MAX_WORKERS} workers of a job at one switch, more in racks ([limits](commands.md#limits)), "
                f"{MAX_INDICES} slots, {MAX_ELEMENTS} elements per packet"
            ),
        ),
        ("routing", f"up to {MAX_GRID_ELEMENTS} elements"),
        ("routing", f"Up to {goat._EXACT_CHOICES:,} choices"),
        ("routing", f"up to {goat._MOST_CHOICES:,}"),
        ("routing", f"above {MOST_ARC_FLOWS} of them"),
        ("netreduce", f"P, {MIN_GROUP} .. {MAX_GROUP}"),
        ("bring-your-own-fpga", f"at most {MAX_BYTES} "),
        ("bring-your-own-fpga", f"{CONFIGURATION.stop:#x} bytes at least"),
        (
            "bring-your-own-fpga",
            f"{MAX_PORTS} ports, {MAX_RINGS} rings, {MAX_MEMBERS} members each, {MAX_MACS} static entries",
        ),
    ],
)
def test_limits_are_told(name, told):
    assert told in " ".join(_page(name).split())

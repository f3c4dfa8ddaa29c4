"""docs/architecture.md walks with a gradient packet and with a scenario file through the code: a run in virtual time
calls what the walks name, and in that order."""

from __future__ import annotations

import compileall
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_TOP = Path(__file__).resolve().parents[1]
_PAGE = (_TOP / "docs" / "architecture.md").read_text(encoding="utf-8")
# Every link has a fault, so that its filter is asked for the first packet already. No C: it would do steps in one call.
_SCENARIO = """\
topology: {kind: rack, hosts: 4}
job: {size: 40kB}
faults:
  - {kind: delay, name: late, links: all, delay: 1us}
"""
_CALLS = """\
import gc, sys
gc.disable()
from testbed.cli.main import main
top, file, out = sys.argv[1:]
seen = {}

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(top):
        seen.setdefault(f"{code.co_filename[len(top) + 1:]} {code.co_name}")

sys.setprofile(note)
status = main(["run", file, "--world", "simulated", "--out", out])
sys.setprofile(None)
print("CALLS", *seen, sep="\\n")
sys.exit(status)
"""
_PACKET = """\
workloads/gradients/synthetic.py gradient
workloads/worker.py handle_timer
workloads/collectives/netreduce.py start
workloads/rc/requester.py post
workloads/rc/go_back_n.py next_packet
workloads/rc/outbound.py write
testbed/worlds/simulated/wire.py _end
testbed/worlds/simulated/nodes.py arrive
testbed/faults/link_filter.py admit
switch_nodes/netreduce/program.py receive_frame
switch_nodes/netreduce/frames.py read
switch_nodes/netreduce/placement.py place
switch_nodes/netreduce/ring.py slot_event
switch_nodes/netreduce/slot_actions.py store
switch_nodes/netreduce/release.py release_completed
switch_nodes/netreduce/results.py build_result
workloads/rc/queue_pair.py receive
workloads/rc/responder.py on_request
testbed/checkers/bit_exact.py bit_exact
"""
_FILE = """\
testbed/cli/main.py main
testbed/scenario/loader.py load_scenario
testbed/reading/yamlfile.py read_text
testbed/reading/sections.py read_keys
testbed/scenario/keys/topology_kinds.py network_of
topologies/rack.py rack
testbed/scenario/keys/fault_loader.py place_faults
testbed/scenario/checks/between.py check_between
testbed/scenario/checks/fit.py check_mtu
testbed/scenario/protocols/owned_keys.py check_owned_keys
testbed/plan/plan.py make_plan
testbed/protocols/parts/plan_ring.py plan_ring
testbed/estimate/memory.py require_memory
testbed/runs/run.py run_scenario
testbed/worlds/simulated/world.py run
workloads/hosts.py create_host
testbed/plan/filters.py make_filters
switch_nodes/registry.py create_program
testbed/worlds/simulated/agenda.py run
testbed/history/codec.py encode_records
testbed/report/document.py judge
testbed/figures/metrics.py metrics
testbed/checkers/fidelity.py judge_fidelity
testbed/checkers/registry.py run_checks
testbed/checkers/bit_exact.py bit_exact
testbed/history/verdict.py merge_results
testbed/report/junit.py junit_xml
testbed/report/html.py html_report
testbed/report/terminal.py print_summary
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """`module function`, in the order of their first calls."""
    # CPython 3.11.2 dies of SIGSEGV now and then where it compiles modules, or collects garbage while it compiles the
    # methods of a dataclass, under a profile function.
    for package in ("testbed", "topologies", "switch_nodes", "workloads"):
        compileall.compile_dir(_TOP / package, quiet=1)
    folder = tmp_path_factory.mktemp("walks")
    (folder / "walk.yaml").write_text(f"name: walk\n{_SCENARIO}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-c", _CALLS, str(_TOP), str(folder / "walk.yaml"), str(folder / "run")],
        env={**os.environ, "PYTHONPATH": str(_TOP), "INA_NATIVE": "0"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("CALLS\n")[2].splitlines()


@pytest.mark.parametrize(
    ("heading", "walk"),
    [
        ("## A gradient packet, from host to sum and back", _PACKET),
        ("## A scenario file, from YAML to exit code", _FILE),
    ],
)
def test_a_walk_names_its_modules_in_the_order_of_the_code(heading: str, walk: str, calls: list[str]) -> None:
    steps = walk.splitlines()
    assert [call for call in calls if call in steps] == steps
    section = _PAGE.partition(heading)[2].partition("\n## ")[0]
    named = list(dict.fromkeys(re.findall(r"`([\w/]+\.py)`", section)))
    modules = [step.split()[0] for step in steps]
    assert [module for module in named if module in modules] == modules


def test_the_walk_of_a_packet_names_at_most_20_modules() -> None:
    section = _PAGE.partition("## A gradient packet, from host to sum and back")[2].partition("\n## ")[0]
    assert len(set(re.findall(r"`([\w/]+\.(?:py|c))`", section))) <= 20

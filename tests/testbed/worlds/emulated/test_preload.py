"""What is loaded before nodes are forked."""

import gc
import subprocess
import sys

from testbed.worlds.emulated.preload import preload

_CHECK = """
import sys
import testbed.worlds.emulated.programs
before = "switch_nodes.registry" in sys.modules
from testbed.worlds.emulated.preload import preload
with preload():
    known = set(sys.modules)
    from switch_nodes.dataplane import DataPlane
    from switch_nodes.registry import create_program
    from testbed.plan.filters import make_filters
    from testbed.captures.capture import PcapngTap
    from workloads.gradients import create_source
    from workloads.worker import WorkerMachine
    import numpy
    numpy.random.Generator
    print(before, set(sys.modules) - known)
"""
_HEAVY = ("networkx", "scipy")
_RUN = f"""
import sys
import testbed.runs.run
from testbed.scenario import load_scenario
from testbed.plan import make_plan
from testbed.worlds.emulated.preload import preload
make_plan(load_scenario("rack"))
with preload():
    print([name for name in {_HEAVY} if name in sys.modules])
make_plan(load_scenario("grid"))
print([name for name in {_HEAVY} if name in sys.modules])
"""


def test_a_node_process_finds_its_parts_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", _CHECK], capture_output=True, text=True, check=False)
    assert done.stdout == "False set()\n", done.stderr


def test_no_node_holds_the_solvers_of_plans_that_need_none() -> None:
    """Each process of a run shares, and at small factors copies, what is loaded; with these it is 70 MB more."""
    done = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n['networkx', 'scipy']\n", done.stderr


def test_the_collector_looks_at_none_of_it_meanwhile() -> None:
    gc.unfreeze()  # the session is frozen (tests/conftest.py)
    with preload():
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0
    gc.freeze()

import pytest

from testbed.hunt.inferred import inferred_protocol
from workloads.errors import ScenarioError

_FILE = """
from switch_nodes.aggregators import EsaProgram
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.program import ProgramBase
from switch_nodes.switchml import SwitchMlProgram


class Pool(SwitchMlProgram):
    pass


class Scarce(EsaProgram):
    pass


class Plain(ForwardProgram):
    pass


class EsaLike(ProgramBase):
    pass
"""


def test_the_protocol_is_that_of_the_nearest_base_of_ours(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(_FILE)
    assert inferred_protocol([]) == "netreduce"
    assert inferred_protocol([f"switch.program={file}:Pool"]) == "switchml"
    assert inferred_protocol([f"switch.program={file}:Scarce"]) == "esa"
    assert inferred_protocol(["switch.program=esa"]) == "esa"


@pytest.mark.parametrize("name", ["Plain", "EsaLike"])
@pytest.mark.protocols("switchml")
def test_a_program_that_could_serve_several_is_refused(tmp_path, name):
    file = tmp_path / "mine.py"
    file.write_text(_FILE)
    with pytest.raises(ScenarioError, match="cannot infer the protocol"):
        inferred_protocol([f"switch.program={file}:{name}"])


@pytest.mark.parametrize("program", ["fpga", "rtl"])
def test_cards_serve_netreduce(program):
    assert inferred_protocol([f"switch.program={program}"]) == "netreduce"

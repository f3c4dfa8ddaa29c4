from dataclasses import replace
from pathlib import Path

import pytest

from switch_nodes import registry
from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.fpga.card import EmulatedCard
from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.program import SwitchProgram
from switch_nodes.registry import create_program, program_names, register_program
from switch_nodes.steering.layout import SteeringConfig
from switch_nodes.steering.program import SteerProgram
from tests.support.grid_star import GridBench
from tests.support.left_out import left_out
from workloads.errors import ScenarioError

OWN = """
from switch_nodes.program import ProgramBase

class Hub(ProgramBase):
    def receive_frame(self, port, frame, now):
        for other in range(self.config.ports):
            if other != port:
                self.emit(other, bytes(frame))

class Nothing:
    def receive_frame(self, port, frame, now):
        pass

def helper():
    pass
"""


def config(program: str) -> SwitchConfig:
    return SwitchConfig("s1", program, 3)


def refusal(program: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        create_program(config(program))
    assert caught.value.exit_code == 64
    return str(caught.value)


def test_built_in_programs() -> None:
    names = {"atp", "dlcp", "esa", "forward", "fpga", "grid", "netreduce", "ps", "repair", "rtl", "steer", "switchml"}
    assert program_names() == tuple(sorted(names - left_out()))
    assert isinstance(create_program(config("forward")), ForwardProgram)
    assert isinstance(create_program(config("netreduce")), NetReduceProgram)
    steering = replace(config("steer"), steering=SteeringConfig(()))
    assert isinstance(create_program(steering), SteerProgram)
    others = [name for name in program_names() if name not in ("fpga", "grid", "rtl")]
    assert all(isinstance(create_program(replace(steering, program=name)), SwitchProgram) for name in others)
    assert isinstance(create_program(GridBench().program.config), SwitchProgram)
    card = create_program(config("fpga"))
    assert isinstance(card, EmulatedCard)
    assert isinstance(card, SwitchProgram)
    assert isinstance(card.program, NetReduceProgram)


def test_registered_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    register_program("also_forward", ForwardProgram)
    assert "also_forward" in program_names()
    assert isinstance(create_program(config("also_forward")), ForwardProgram)
    with pytest.raises(ScenarioError, match="'also_forward' is already registered"):
        register_program("also_forward", ForwardProgram)
    for name in ("", "a:b"):
        with pytest.raises(ScenarioError, match="has no colon and at least one character"):
            register_program(name, ForwardProgram)


def test_unknown_names_list_the_known_ones_closest_first() -> None:
    names = program_names()
    assert refusal("netreduse") == (
        "scenario: switch.program: unknown switch program; found 'netreduse'; "
        f"allowed: {', '.join(sorted(names, key=lambda name: name != 'netreduce'))} or path.py:Class"
    )
    assert "allowed: forward, " in refusal("foreward")
    assert refusal("zzz").endswith(f"allowed: {', '.join(names)} or path.py:Class")


def test_a_program_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "hub.py"
    file.write_text(OWN)
    program = create_program(config(f"{file}:Hub"))
    program.receive_frame(1, b"x" * 60, 0)
    assert [(port, bytes(frame)) for port, frame in program.frames_to_send(0)] == [(0, b"x" * 60), (2, b"x" * 60)]


def test_files_that_hold_no_program(tmp_path: Path) -> None:
    file = tmp_path / "hub.py"
    file.write_text(OWN)
    missing = tmp_path / "none.py"
    assert refusal(f"{missing}:Hub").endswith(f"no such program file; found '{missing}'; allowed: a .py file")
    assert refusal(f"{tmp_path}:Hub").endswith("allowed: a .py file")
    assert refusal(f"{file}:Hup").endswith("has no such class; found 'Hup'; allowed: ProgramBase, Hub, Nothing")
    assert refusal(f"{file}:helper").startswith(f"scenario: switch.program: the program file {file} has no such class")
    assert refusal(f"{file}:Nothing").endswith(
        "class Nothing of "
        f"{file} is no switch program: it lacks frames_to_send, get_timer, handle_timer, next_event, finish"
    )
    file.write_text("import nowhere_to_be_found")
    assert "cannot be loaded: ModuleNotFoundError: No module named 'nowhere_to_be_found'" in refusal(f"{file}:Hub")
    file.write_text("def broken(:")
    assert "cannot be loaded: SyntaxError" in refusal(f"{file}:Hub")

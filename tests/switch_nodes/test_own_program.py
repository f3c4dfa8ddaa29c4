"""A user's own switch program: what its code does wrong is told as the program's, with file, class and line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.own_program import ProgramFailed
from switch_nodes.program import SwitchProgram
from switch_nodes.registry import create_program
from workloads.errors import InternalError, ScenarioError

HEAD = """
import sys
from dataclasses import dataclass
from switch_nodes.forwarding import ForwardProgram
from workloads.errors import InternalError
"""
FRAME = bytes.fromhex("020000000002020000000001") + b"x" * 48


def made(folder: Path, body: str, head: str = HEAD) -> SwitchProgram:
    """A program of a file whose class Own, with this body, begins in line 8."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "own.py").write_text(f"{head}\n\nclass Own(ForwardProgram):\n{lines}", encoding="utf-8")
    return create_program(SwitchConfig("s1", f"{folder / 'own.py'}:Own", 3))


def drive(program: SwitchProgram) -> None:
    """Everything that a world asks of it."""
    program.receive_frame(0, FRAME, 5)
    list(program.frames_to_send(5))
    program.get_timer()
    program.handle_timer(6)
    program.finish(7)
    while program.next_event() is not None:
        pass


@pytest.mark.parametrize(
    ("body", "line", "text"),
    [
        ("def receive_frame(self, port, frame, now):\n    1 / 0", 10, ("on switch s1 in receive_frame: "
                                                                      "ZeroDivisionError: division by zero")),
        ("def receive_frame(self, port, frame, now):\n    self.help()\ndef help(self):\n    raise OSError", 12,
            "on switch s1 in help: OSError"),
        ("def receive_frame(self, port, frame, now):\n    sys.exit(0)", 10,
            "on switch s1 in receive_frame: SystemExit: 0"),
        ("def handle_timer(self, now):\n    raise KeyError(4)", 10, "on switch s1 in handle_timer: KeyError: 4"),
        ("def get_timer(self):\n    return 'soon'", 9, ("on switch s1 in get_timer: TypeError: get_timer gave 'soon', "
                                                       "which is no int (nanoseconds) or None")),
        ("def get_timer(self):\n    return self.soon", 10, ("on switch s1 in get_timer: AttributeError: 'Own' object "
                                                           "has no attribute 'soon'")),
        ("def finish(self, now):\n    raise RuntimeError('in two\\nlines')", 10,
            "on switch s1 in finish: RuntimeError: in two lines"),
        ("def receive_frame(self):\n    pass", 9, ("on switch s1 in receive_frame: TypeError: Own.receive_frame() "
                                                   "takes "
                                                  "1 positional argument but 4 were given")),
        ("def next_event(self):\n    raise ValueError", 10, "on switch s1 in next_event: ValueError"),
        ("def frames_to_send(self, now):\n    yield 0, b'x'\n    sys.exit()", 11,
            "on switch s1 in frames_to_send: SystemExit"),
        ("def frames_to_send(self, now):\n    yield 3, b'x'", 9, ("on switch s1 in frames_to_send: ValueError: a frame "
                                                                 "was sent to port 3; the switch has 0 to 2")),
        ("def frames_to_send(self, now):\n    return [7]", 9, ("on switch s1 in frames_to_send: TypeError: cannot "
                                                              "unpack non-iterable int object")),
        ("def frames_to_send(self, now):\n    return None", 9, ("on switch s1 in frames_to_send: TypeError: 'NoneType' "
                                                               "object is not iterable")),
        ("def receive_frame(self, port, frame, now):\n    self.emit(999, frame)", 10,
            "on switch s1 in receive_frame: ValueError: a frame was sent to port 999; the switch has 0 to 2"),
        ("def receive_frame(self, port, frame, now):\n    self.emit(-1, frame)", 10,
            "on switch s1 in receive_frame: ValueError: a frame was sent to port -1; the switch has 0 to 2"),
        ("def receive_frame(self, port, frame, now):\n    self.emit(None, frame)", 10,
            "on switch s1 in receive_frame: TypeError: a frame was sent to port None, which is no whole number"),
        ("def receive_frame(self, port, frame, now):\n    self.emit(1, None)", 10,
            ("on switch s1 in receive_frame: TypeError: what was sent to port 1 is no frame: found None, allowed are "
            "bytes")),
        ("def receive_frame(self, port, frame, now):\n    self.emit(1, 'x' * 99)", 10,
            (f"on switch s1 in receive_frame: TypeError: what was sent to port 1 is no frame: found '{'x' * 56}..., "
            "allowed are bytes")),
        ("def receive_frame(self, port, frame, now):\n    self.tell('rubbish')", 10,
            ("on switch s1 in receive_frame: TypeError: the reported value is no event: found 'rubbish', allowed are "
            "dataclasses")),
        ("def finish(self, now):\n    @dataclass\n    class Odd:\n        what: object\n    self.tell(Odd(b'x'))", 13,
            ("on switch s1 in finish: TypeError: the fields of event Odd are no JSON values: Object of type bytes is "
            "not JSON serializable")),
    ],
)  # fmt: skip
def test_what_the_code_raises_or_gives_out_is_told_as_the_programs(
    tmp_path: Path, body: str, line: int, text: str
) -> None:
    program = made(tmp_path, body)
    with pytest.raises(ProgramFailed) as caught:
        drive(program)
    assert str(caught.value) == f"{tmp_path / 'own.py'}:{line}: class Own: the program's own code failed {text}"
    assert caught.value.exit_code == 64


@pytest.mark.parametrize(
    ("body", "line", "text"),
    [
        ("def __init__(self, config):\n    raise ValueError('boom')", 10, "ValueError: boom"),
        ("def __init__(self):\n    pass", 9, "TypeError: Own.__init__() takes 1 positional argument but 2 were given"),
        ("def __init__(self, config):\n    sys.exit(0)", 10, "SystemExit: 0"),
    ],
)
def test_so_is_what_its_making_raises(tmp_path: Path, body: str, line: int, text: str) -> None:
    with pytest.raises(ProgramFailed) as caught:
        made(tmp_path, body)
    assert str(caught.value) == (
        f"{tmp_path / 'own.py'}:{line}: class Own: the program's own code failed on switch s1 in __init__: {text}"
    )


def test_a_mistake_that_shows_in_our_code_names_the_class(tmp_path: Path) -> None:
    program = made(tmp_path, "def __init__(self, config):\n    pass")
    with pytest.raises(ProgramFailed) as caught:
        program.receive_frame(0, FRAME, 0)
    assert (caught.value.line, caught.value.reason) == (8, "AttributeError: 'Own' object has no attribute 'macs'")


@pytest.mark.parametrize("error", [KeyboardInterrupt, InternalError])
def test_what_is_not_the_programs_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(*given: object) -> None:
        raise error("ours")

    monkeypatch.setattr(ForwardProgram, "forward", fail)
    program = made(tmp_path, "def receive_frame(self, port, frame, now):\n    self.forward(port, frame)")
    with pytest.raises(error, match="ours"):
        program.receive_frame(0, FRAME, 0)


def test_an_internal_error_that_the_program_raises_itself_is_its_own(tmp_path: Path) -> None:
    program = made(tmp_path, "def receive_frame(self, port, frame, now):\n    raise InternalError('mine')")
    with pytest.raises(ProgramFailed, match="in receive_frame: InternalError: mine"):
        program.receive_frame(0, FRAME, 0)


def test_a_watched_program_is_what_it_was_and_does_what_it_did(tmp_path: Path) -> None:
    program = made(tmp_path, "pass", HEAD + "from switch_nodes.netreduce import NetReduceProgram as ForwardProgram")
    assert isinstance(program, NetReduceProgram)
    assert isinstance(program, SwitchProgram)
    assert (type(program).__name__, type(program).__module__) == ("Own", "switch_program_own")
    program.receive_frame(0, FRAME, 5)
    lazily = iter(program.frames_to_send(5))
    assert next(lazily)[0] == 1
    assert [port for port, _ in program.frames_to_send(5)] == [2]  # what was not taken stayed inside


def refused(call: Callable[[], object]) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        call()
    return caught.value


def test_a_class_that_allows_no_subclass_is_refused(tmp_path: Path) -> None:
    error = refused(lambda: made(tmp_path, "def __init_subclass__(cls):\n    raise TypeError('final')"))
    assert str(error) == f"{tmp_path / 'own.py'}:8: class Own: no subclass can be made of it: TypeError: final"


def test_a_file_that_ends_or_fails_when_loaded_is_named_with_its_line(tmp_path: Path) -> None:
    start = f"{tmp_path / 'own.py'}:"
    error = refused(lambda: made(tmp_path, "pass", "import sys\nsys.exit(0)"))
    assert str(error) == f"{start}2: switch.program: the program file cannot be loaded: SystemExit: 0"
    error = refused(lambda: made(tmp_path, "pass", "\n\n\n1 / 0"))
    assert str(error) == (
        f"{start}4: switch.program: the program file cannot be loaded: ZeroDivisionError: division by zero"
    )
    error = refused(lambda: made(tmp_path, "pass", "\nclass A("))
    assert str(error).startswith(f"{start}2: switch.program: the program file cannot be loaded: SyntaxError: '('")

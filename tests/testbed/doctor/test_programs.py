"""Programs: all that are started are declared, and `./tb` installs what is declared."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.doctor.programs import PROGRAMS, Origin, package_of, packages
from testbed.interop.packages import HOST_PACKAGES
from tests.bareroot.started import problems
from tests.bareroot.starts import behind, program_of

_TOP = Path(__file__).resolve().parents[3]
_CODE = ("testbed", "switch_nodes", "workloads", "topologies", "playbooks", "benchmarks", "tests")
_BY_LIST = {"run", "Popen", "check_output", "check_call", "call", "run_tool", "run_command", "runner", "_runner",
    "_run", "start",
            "_start", "_step", "execv", "execvp", "execve", "spawn"}  # fmt: skip
"""functions that take a command as a list"""
_BY_NAME = {"which", "_which", "_first_line", "_ssh", "_command", "_daemon", "cmd", "system", "popen", "pexec"}
"""functions whose first argument is a program, or a line for a shell"""
_CALLED = re.compile(rf"\b(?:{'|'.join(sorted(_BY_LIST | _BY_NAME))})\(")
"""in each text that starts a program"""
_NONE = {"/nowhere/rdma", "no-such-qemu-anywhere", "there-is-no-such-program"}
"""what tests start to see how that fails"""


def _first_word(node: ast.expr) -> str | None:
    match node:
        case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
            return _first_word(first)
        case ast.Call(func=ast.Attribute(value=text, attr="split")):
            return _first_word(text)
        case ast.BinOp(left=first, op=ast.Add()) | ast.JoinedStr(values=[first, *_]) | ast.Starred(value=first):
            return _first_word(first)
        case ast.Constant(value=str(text)) if text.strip():
            return text.split()[0]
    return None


def _commands(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """(line, what names the program): arguments of functions that start one, also by way of a local name."""
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef | ast.Module):
            continue
        local: dict[str, list[ast.expr]] = {}
        nodes = list(ast.walk(scope))
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                local.setdefault(node.targets[0].id, []).append(node.value)
        for node in nodes if isinstance(scope, ast.FunctionDef) else scope.body:
            call = node.value if isinstance(node, ast.Expr) else node
            if not isinstance(call, ast.Call) or not call.args:
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            first = call.args[0]
            if name in _BY_NAME:
                yield call.lineno, first
            elif name in _BY_LIST:
                for command in local.get(first.id, []) if isinstance(first, ast.Name) else [first]:
                    if isinstance(command, ast.List | ast.Tuple):
                        yield call.lineno, command


def _started_in(text: str) -> dict[str, int]:
    """Program -> line."""
    found: dict[str, int] = {}
    for line, command in _commands(ast.parse(text)) if _CALLED.search(text) else ():
        word = _first_word(command)
        if word is not None and re.fullmatch(r"/?[a-z][\w./+-]*", word):
            found.setdefault(word, line)
    return found


def test_what_code_and_tests_start_is_declared() -> None:
    undeclared, seen = [], set()
    for path in (path for folder in _CODE for path in sorted((_TOP / folder).rglob("*.py"))):
        for program, line in _started_in(path.read_text(encoding="utf-8")).items():
            name = program.rpartition("/")[2]
            seen.add(name)
            if package_of(name) is None and program not in _NONE:
                undeclared.append(f"{path.relative_to(_TOP)}:{line} starts {program}")
    assert not undeclared, "declare them in testbed/doctor/programs.py"
    assert seen >= {"ping", "ip", "tc", "iperf3", "tcpdump", "ovs-vsctl", "ssh-keygen", "nsenter", "modprobe", "git"}


@pytest.mark.parametrize(
    ("code", "program"),
    [
        ("import subprocess\ndef f():\n    subprocess.run(['wget', '-q', x])", "wget"),
        ("import subprocess\ndef f():\n    command = ['tshark', x]\n    subprocess.Popen(command)", "tshark"),
        ("import shutil\ndef f():\n    return shutil.which('bpftool')", "bpftool"),
        ("def f(node):\n    node.cmd('arping -c 1 ' + x)", "arping"),
        ("def f():\n    run(f'ifconfig {x} up'.split())\n    runner(('socat', x))", "socat"),
        ("import subprocess\nsubprocess.run(('curl', x))", "curl"),
    ],
)
def test_ways_to_start_a_program_are_seen(code: str, program: str) -> None:
    assert program in _started_in(code)


def test_set_up_installs_what_is_declared() -> None:
    text = (_TOP / "tb").read_text(encoding="utf-8")
    listed = re.search(r"^packages='([^']*)'$", text, re.MULTILINE)
    assert listed is not None
    assert sorted(listed[1].split()) == list(packages(Origin.SET_UP))


def test_interop_installs_what_is_declared() -> None:
    assert set(packages(Origin.INTEROP)) <= set(HOST_PACKAGES)


def test_a_program_is_declared_once() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)
    assert all(program.package and program.purpose for program in PROGRAMS)


def _of_the_system(program: str) -> str | None:
    """Its path; None where only an environment of Python that the tests happen to run in has it."""
    return shutil.which(program, path="/usr/bin:/usr/sbin:/bin:/sbin")


def test_programs_of_this_machine_are_in_their_packages() -> None:
    """As dpkg knows it, for those that are here."""
    if shutil.which("dpkg-query") is None:
        pytest.skip("no Debian")
    # Links of the alternatives, or of a package that ours needs, are in no package.
    names = [program.name for program in PROGRAMS if program.name not in ("cc", "python3")]
    places = {
        name: {path, str(Path(path).resolve()), path.removeprefix("/usr")}
        for name in names
        if (path := _of_the_system(name)) is not None
    }
    asked = ["dpkg-query", "-S", *sorted(set().union(*places.values()))]
    lines = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.splitlines()
    assert len(lines) > 10
    wrong = []
    for program in PROGRAMS:
        there = places.get(program.name, set())
        owners = {line.partition(":")[0] for line in lines if line.rpartition(": ")[2] in there}
        # A package that stands for the newest version (clang, gcc) holds a link into the versioned one.
        if owners and not any(
            re.fullmatch(rf"{re.escape(program.package.removesuffix('-switch'))}(-[\d.]+|-common|-switch)?", owner)
            for owner in owners
        ):
            wrong.append(f"{program.name}: {program.package}, dpkg says {', '.join(sorted(owners))}")
    assert wrong == []


_PAGES = [_TOP / "README.md", *sorted((_TOP / "docs").glob("*.md"))]
_OURS = {
    "dask",
    ".venv/bin/pip",  # of the environment: the first with the extra that the page names
    "./tb",
    "tb",
    ".ci/run",
    ".venv/bin/python",
    "python",
    "python3",
    "pip",
}
"""of the toolkit, and of any environment of Python"""
_MENTIONED = {"kill", "mn", "reset"}
"""words of spans that nobody is to type: a way to die, what we never do, a step of a protocol"""


def _typed(text: str) -> Iterator[str]:
    """Programs that a page has people type: in blocks of commands, and in `...` of several words."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = [line for line in block.splitlines() if line and line[0] not in " #"]
        firsts = [list(_programs(line)) for line in lines]
        if any(words and (words[0] in _OURS or words[0] == "sudo") for words in firsts):
            yield from (word for words in firsts for word in words)
    for span in re.findall(r"`([a-z][\w-]* [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)):
        for word in _programs(span):
            # Many spans are texts of files, or what programs say.
            if span.startswith("sudo ") or (_of_the_system(word) is not None and word not in _MENTIONED):
                yield word


def _programs(line: str) -> Iterator[str]:
    for part in re.split(r"&&|;|\s\|\s", re.split(r" #| {2,}", line)[0]):
        words = part.split()
        while words:
            yield words[0]
            if words[0] == "sudo":
                words = words[1:]
            elif words[:3] == ["ip", "netns", "exec"]:
                words = words[4:]
            else:
                break


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_what_documents_have_people_type_is_declared(page: Path) -> None:
    typed = set(_typed(page.read_text(encoding="utf-8"))) - _OURS
    assert sorted(word for word in typed if package_of(word) is None) == []


def test_what_a_page_has_people_type_is_seen() -> None:
    page = "```\nsudo ./tb up\nwget x | gunzip\n```\nsee `sudo snoop y`\n```\nfirst difference\n```\n"
    assert set(_typed(page)) - _OURS == {"sudo", "wget", "gunzip", "snoop"}


class TestNoting:
    def test_programs_of_the_system_have_a_name(self, tmp_path: Path) -> None:
        assert program_of(["sh", "-c", "true"]) == "sh"
        assert program_of("/bin/sh") == "sh"
        assert program_of([sys.executable, "-c", ""]) is None
        assert program_of(["there-is-no-such-program"]) is None
        stand_in = tmp_path / "sh"
        stand_in.write_text("#!/bin/sh\n")
        stand_in.chmod(0o755)
        assert program_of(["sh"], {"PATH": str(tmp_path)}) is None

    def test_what_runs_in_another_namespace_is_seen(self) -> None:
        assert behind(["nsenter", "-t", "17", "-n", "ping", "-c", "3"]) == ["ping", "-c", "3"]
        assert behind(("nsenter", "--net=/proc/1/ns/net", "ip", "addr")) == ["ip", "addr"]
        assert behind(["/bin/sh", "-c", '"$@"', "sh", "gcc", "-O3"]) == ["gcc", "-O3"]
        assert behind(["ip", "addr"]) is None

    def test_children_of_tests_note_what_they_start(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        log.touch()
        code = (
            "import subprocess, os; subprocess.run(['true']); subprocess.run('exit 0', shell=True); os.execvp('sh', "
            "['sh', '-c', 'exit 0'])"
        )
        environment = {
            "PYTHONPATH": f"{_TOP}:{_TOP}/tests/bareroot/noting",
            "INA_PROGRAMS_LOG": str(log),
            "PATH": "/usr/bin:/bin",
        }
        subprocess.run([sys.executable, "-P", "-c", code], env=environment, check=True)
        assert log.read_text().split() == ["true", "sh", "sh"]

    def test_what_is_missing_and_what_is_too_much(self) -> None:
        every = {program.name for program in PROGRAMS}
        assert problems(every) == []
        assert problems(every - {"ping"} | {"wget"}) == [
            "ping: ./tb installs it, and no test of marker `programs` starts it",
            "wget: started, and not declared",
        ]

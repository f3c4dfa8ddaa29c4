"""Standard streams as a command finds them: a real process, whose streams are closed, full, or of another encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guide import own_protocol

_TOP = Path(__file__).resolve().parents[3]
_RACK = "world: simulated\ntopology: {kind: rack, hosts: 2}\njob: {size: 4kB}\n"


def _tb(words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """As a shell runs it: `words` may redirect."""
    command = f"exec {sys.executable} -P -m testbed {words}"
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment = {**known, "PYTHONPATH": str(_TOP), **environment}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, timeout=300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(f"name: s\n{_RACK}")
    text = "größe 中文 \\u202e rtl \\uffff \\0 \\e[31m"
    (tmp_path / "text.yaml").write_text(f'name: text\ndescription: "{text}"\n{_RACK}', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("closed", "code"), [(">&-", 3), (">&- 2>&- <&-", 3), ("2>&- <&-", 0), ("--quiet >&-", 0), ("> /dev/null", 0)]
)
def test_a_run_with_closed_streams_is_kept(folder, closed, code):
    assert _tb(f"run s.yaml --out run {closed}", folder).returncode == code
    written = {path.name for path in (folder / "run").iterdir()}
    assert {"result.json", "report.html", "scenario.yaml"} <= written
    assert json.loads((folder / "run" / "result.json").read_bytes())["verdict"] == "pass"


@pytest.mark.parametrize("words", ["validate s.yaml", "run s.yaml", "list faults", "--help", "validate s.yaml --json"])
def test_a_full_standard_output_is_named(folder, words):
    answer = _tb(f"{words} > /dev/full", folder)
    assert answer.returncode == 3
    assert b"standard output" in answer.stderr
    assert b"No space left on device" in answer.stderr
    assert b"Traceback" not in answer.stderr


@pytest.mark.parametrize(
    "words",
    ["list", "--help", "--version", "run --help", "schema", "graph s.yaml", "validate s.yaml", "validate s.yaml --json",
     "validate s.yaml --resolved", "run s.yaml --json", "dissector", "completion bash", "route grid-triangle"],
)  # fmt: skip
def test_a_closed_standard_output_is_named(folder, words):
    answer = _tb(f"{words} >&-", folder)
    assert answer.returncode == 3
    assert b"tb: this machine lacks a standard output that takes what is printed (it is closed)" in answer.stderr
    assert b"Traceback" not in answer.stderr


def test_a_full_standard_error_changes_no_exit_code(folder):
    assert _tb("validate nowhere 2> /dev/full", folder).returncode == 64
    assert _tb("validate s.yaml 2> /dev/full", folder).returncode == 0


def test_a_reader_that_goes_away_ends_a_command_quietly(folder):
    answer = _tb("list > >(exec true)", folder)
    assert answer.returncode in (0, 141)
    assert not answer.stderr


def test_what_an_encoding_lacks_and_a_terminal_obeys_is_escaped(folder):
    answer = _tb("run text.yaml --out run", folder, PYTHONIOENCODING="ascii")
    assert answer.returncode == 0, answer.stderr
    shown = b"gr\\u00f6\\u00dfe \\u4e2d\\u6587 \\u202e rtl \\uffff \\u0000 \\u001b[31m"
    assert shown in answer.stdout
    for path in (folder / "run").iterdir():
        if path.suffix in (".html", ".json", ".xml", ".yaml"):
            text = path.read_text(encoding="utf-8")
            assert not {"\0", "\x1b", "\u202e", "\uffff"} & set(text), path.name
    as_json = _tb("run text.yaml --json --out again", folder, PYTHONIOENCODING="ascii")
    assert json.loads(as_json.stdout)["description"].startswith("größe 中文")


def test_paths_that_are_no_utf8(folder):
    assert _tb(r"run s.yaml --out $'out\xe9'", folder).returncode == 0
    assert _tb(r"report $'out\xe9'", folder).returncode == 0
    os.rename(folder / "s.yaml", os.fsencode(folder) + b"/s\xe9.yaml")
    assert _tb(r"validate $'s\xe9.yaml'", folder).returncode == 0
    missing = _tb(r"validate $'t\xe9.yaml'", folder)
    assert missing.returncode == 64
    assert b"t\\udce9.yaml" in missing.stderr


_TALKS = """

def talk():
    import os
    print("by print")
    os.write(1, b"by number\\n")
    os.system("echo by a child")

def check(run):
    from testbed.history.verdict import CheckResult, Verdict
    talk()
    return CheckResult("check", Verdict.PASS, "fine")

talk()
"""


@pytest.mark.parametrize(
    "words",
    [
        "run s.yaml --json --check own.py:check",
        "run m.yaml --json --set job.protocol=own.py:BF16",
        "validate m.yaml --json --set job.protocol=own.py:BF16",
        "hunt m.yaml --json --schedules 1 --set job.protocol=own.py:BF16",
        "validate m.yaml --resolved --set job.protocol=own.py:BF16",
        "graph m.yaml --set job.protocol=own.py:BF16",
    ],
)
def test_a_document_is_alone_on_standard_output(folder, words):
    own = own_protocol()
    (folder / "own.py").write_text(own + _TALKS, encoding="utf-8")
    (folder / "m.yaml").write_text(f"name: m\n{_RACK}switch: {{program: switchml}}\n")
    answer = _tb(words, folder)
    document = answer.stdout.decode()
    if "--json" in words:
        assert isinstance(json.loads(document), dict), answer.stderr
    else:
        assert document.startswith(("<svg", 'name: "m"\n')), answer.stderr
    for said in ("by print\n", "by number\n", "by a child\n"):
        assert said in answer.stderr.decode()
        assert said not in document

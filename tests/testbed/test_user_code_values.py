"""What code of the user's own returns or defines: a wrong value is an error of that code, in words, and never ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.hunt.protocols import hunted_of
from testbed.scenario import load_scenario
from tests.support.guide import OTHERWISE, own_protocol
from workloads.errors import ScenarioError

VALUES = {
    "nothing": "None", "number": "5", "text": "'text'", "list": "[]", "object": "object()",
    "raises": "_raise(KeyError('mine'))", "internal": "_raise(InternalError('mine'))",
}  # fmt: skip
PREFACE = """

from testbed.checkers import Checker
from testbed.history.verdict import CheckResult, Verdict
from testbed.protocols import ResultKind
from workloads.errors import InternalError


def _raise(error):
    raise error


def near(context):
    return CheckResult("near", Verdict.PASS, "near")


NEAR = otherwise(
    BF16, order=Protocol.order, checkers=lambda: (Checker("near", near, proves="sums are near"),),
    result=lambda: ResultKind.NEAR_SUM,
)


class OwnConfig(SwitchMlConfig):
    runs = f"{__name__}:made"


def own_plan(scenario):
    found = plan_as("switchml", scenario)
    workers = [{field.name: getattr(each, field.name) for field in fields(each)} for each in found.workers]
    return replace(found, workers=tuple(OwnConfig(**values) for values in workers))


class Machine(SwitchMlWorker):
    pass


def made(config, start_ns):
    return Machine(config, Cutting(source_of(config)), start_ns=start_ns)


MADE = otherwise(BF16, plan=own_plan)
"""
RUN = ["run", "switchml-lossy", "--set", "job.size=20kB", "--set", "job.iterations=1", "--world", "simulated"]
CALLABLES = {
    "plan": "OWN = otherwise(BF16, plan=lambda scenario: {value})",
    "workers": "OWN = otherwise(BF16, plan=lambda scenario: replace(plan(scenario), workers={value}))",
    "switches": "OWN = otherwise(BF16, plan=lambda scenario: replace(plan(scenario), switches=({value},)))",
    "servers": "OWN = otherwise(BF16, plan=lambda scenario: replace(plan(scenario), servers={value}))",
    "workload": (
        "OWN = otherwise(BF16, plan=lambda scenario: replace((p := plan(scenario)), workers=tuple("
        "replace(w, workload={value}) for w in p.workers)))"
    ),
    "elements": (
        "OWN = otherwise(BF16, plan=lambda scenario: replace((p := plan(scenario)), workers=tuple("
        "replace(w, elements=[{value}]) for w in p.workers)))"
    ),
    "checks": "OWN = otherwise(BF16, check=lambda sections: {value})",
    "parameter": "OWN = otherwise(BF16, check=lambda sections, nope: {value})",
    "check_fault": "OWN = otherwise(BF16, check_fault=lambda *given: {value})",
    "order": "OWN = otherwise(BF16, order=lambda plan, workers, gradients: {value})",
    "sum": "OWN = otherwise(BF16, order=lambda plan, workers, gradients: [{value}] * len(workers))",
    "blocks": "OWN = otherwise(BF16, blocks=lambda worker, elements: [{value}][0] if {value} != 5 else -5)",
    "part": "OWN = otherwise(BF16, part=lambda worker: {value})",
    "record_share": "OWN = otherwise(BF16, record_share=lambda: [{value}][0] if {value} != 5 else float('nan'))",
    "bound": "OWN = otherwise(BF16, bound=lambda plan, link_bps: [{value}][0] if {value} != 5 else float('nan'))",
    "check": "OWN = otherwise(NEAR, checkers=lambda: (Checker('near', lambda context: {value}, 'near'),))",
    "skip": "OWN = otherwise(NEAR, checkers=lambda: (Checker('near', near, 'near', lambda context: {value}),))",
    "create": "def made(config, start_ns):\n    return {value}\nOWN = MADE",
    "runs": "OwnConfig.runs = {value}\nOWN = MADE",
    "get_timer": "Machine.get_timer = lambda self: [{value}][0] if repr({value}) != 'None' else 1.5\nOWN = MADE",
    "frames_to_send": "Machine.frames_to_send = lambda self, now: [{value}]\nOWN = MADE",
    "frame": "Machine.frames_to_send = lambda self, now: [(0, {value})]\nOWN = MADE",
    "port": "Machine.frames_to_send = lambda self, now: [({value}, bytes(100))]\nOWN = MADE",
    "next_event": "Machine.next_event = lambda self: [{value}][0] if repr({value}) != 'None' else 1.5\nOWN = MADE",
    "result": "Machine.result = property(lambda self: [{value}][0] if repr({value}) != 'None' else 1.5)\nOWN = MADE",
    "state": "def spoil(self, now):\n    self._training = {value}\n    SwitchMlWorker.handle_timer(self, now)\n"
    "Machine.handle_timer = spoil\nOWN = MADE",
}  # fmt: skip
GOOD = {
    ("checks", "nothing"), ("check_fault", "nothing"), ("skip", "nothing"), ("servers", "nothing"),
}  # fmt: skip
"""values that are allowed there"""


@pytest.fixture(scope="module")
def bf16() -> str:
    return own_protocol() + OTHERWISE + PREFACE


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", CALLABLES)
def test_a_protocol_that_gives_a_wrong_value_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    bf16: str,
    name: str,
    value: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = CALLABLES[name].replace("{value}", VALUES[value])
    Path("mine.py").write_text(f"{bf16}\n{text}\n", encoding="utf-8")
    code = main([*RUN, "--set", "job.protocol=mine.py:OWN", "-q", "--json", "--out", "run"])
    told, errors = capsys.readouterr()
    assert "Traceback" not in told + errors
    assert "internal error" not in told + errors
    if (name, value) in GOOD:
        return
    assert code in (2, 64), told + errors
    if code == 64:
        assert "mine.py" in errors
        assert len(errors.splitlines()) <= 2
    else:
        unknown = [check["detail"] for check in json.loads(told)["checks"] if check["verdict"] == "unknown"]
        assert any("mine.py" in detail for detail in unknown), unknown


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("name=7", "OWN.name: the protocol cannot have this; found 7; allowed: text"),
        ("name=''", "OWN.name: the protocol cannot have this; found ''; allowed: text that is not empty"),
        ("name=None", "OWN.name: the protocol cannot have this; found None; allowed: text"),
        ("summary=7", "OWN.summary: the protocol cannot have this; found 7; allowed: text"),
        ("plan=None", "OWN.plan: the protocol cannot have this; found None; allowed: a function"),
        ("plan='text'", "OWN.plan: the protocol cannot have this; found 'text'; allowed: a function"),
        ("programs='switchml'", "OWN.programs: the protocol cannot have this; found 'switchml'; allowed: a tuple"),
        ("programs=()", "OWN.programs: the protocol cannot have this; found (); allowed: some of "),
        ("programs=('nope',)", "OWN.programs: the protocol cannot have this; found ('nope',); allowed: some of "),
        ("programs=(7,)", "OWN.programs[0]: the protocol cannot have this; found 7; allowed: text"),
        ("largest_mtu=None", "OWN.largest_mtu: the protocol cannot have this; found None; allowed: a function"),
        ("largest_mtu=lambda: 'x'", "OWN.largest_mtu: the protocol cannot have this; found 'x'; allowed: one of "),
        ("largest_mtu=lambda: -1", "OWN.largest_mtu: the protocol cannot have this; found -1; allowed: one of "),
        ("recoveries=lambda: ('nope',)", "OWN.recoveries: the protocol cannot have this; found ('nope',)"),
        ("framings=lambda: ()", "OWN.framings: the protocol cannot have this; found ()"),
        ("optional_keys=lambda: 7", "OWN.optional_keys: the protocol cannot have this; found 7; allowed: a frozenset"),
        ("optional_keys=lambda: frozenset({'jobs'})", "OWN.optional_keys: the protocol cannot have this; found "),
        ("result=lambda: True", "protocol OWN has a result that is none (result); found True"),
        ("worlds=lambda: ('nope',)", "OWN.worlds: the protocol cannot have this; found ('nope',); allowed: some of "),
        ("servers=lambda: True", "OWN.servers: the protocol cannot have this; found True; allowed: 0 or 1"),
        ("wire_dtype=lambda dtype: 8", "OWN.wire_dtype: the protocol cannot have this; found 8; allowed: one of "),
        ("as_stage=lambda: 7", "OWN.as_stage: the protocol cannot have this; found 7; allowed: text"),
        ("as_fallback=lambda: None", "OWN.as_fallback: the protocol cannot have this; found None; allowed: text"),
        ("message_window=lambda *size: 0", "OWN.message_window: the protocol cannot have this; found 0; allowed: None"),
        ("job_keys=7", "OWN.job_keys: the protocol cannot have this; found 7; allowed: a class or None"),
        ("job_keys=dict", "OWN.job_keys: the protocol cannot have this; found <class 'dict'>; allowed: a Section"),
        ("check=7", "OWN.check: the protocol cannot have this; found 7; allowed: a function"),
        ("order='text'", "OWN.order: the protocol cannot have this; found 'text'; allowed: "),
        ("blocks=5", "OWN.blocks: the protocol cannot have this; found 5; allowed: "),
        ("worker=5", "OWN.worker: the protocol cannot have this; found 5; allowed: "),
        ("checkers=5", "OWN.checkers: the protocol cannot have this; found 5; allowed: a function"),
        ("checkers=lambda: (5,)", "protocol OWN has a checker that is none (checkers); found (5,); allowed: a tuple"),
        ("checkers=lambda: (Checker(7, near, 'near'),)", "protocol OWN has a checker that is none (checkers)"),
        ("checkers=lambda: (Checker('near', 7, 'near'),)", "protocol OWN has a checker that is none (checkers)"),
        ("hunt=7", "OWN.hunt: the protocol cannot have this; found 7; allowed: "),
        ("like=7", "OWN.like: the protocol cannot have this; found 7; allowed: text"),
        ("like='nope'", "protocol OWN does not say which protocol of ours a kept scenario file names instead of it"),
    ],
)  # fmt: skip
def test_a_protocol_that_defines_a_wrong_value_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bf16: str, fields: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(f"{bf16}\nOWN = otherwise(BF16, {fields})\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario("switchml", ["job.protocol=mine.py:OWN"])
    assert told in str(caught.value)
    assert "mine.py" in str(caught.value) or "job.protocol" in str(caught.value)


@pytest.mark.parametrize(
    ("hunt", "told"),
    [
        ("lambda: 7", "returned a wrong value; found 7; allowed: a Hunt, or None"),
        ("lambda: _raise(KeyError('mine'))", "the protocol's own code failed in _raise: KeyError: 'mine'"),
        ("lambda: DatagramHunt({'float32': 'x'})", "OWN.hunt.dtypes: the protocol cannot have this; found 'x'; allo"),
        ("lambda: DatagramHunt({'nope': 1})", "OWN.hunt.dtypes: the protocol cannot have this; found ('nope',)"),
        ("lambda: DatagramHunt({})", "OWN.hunt.dtypes: the protocol cannot have this; found {}; allowed: one weight"),
        ("lambda: DatagramHunt({'int32': 1}, waits=0)", "OWN.hunt.waits: the protocol cannot have this; found 0; a"),
        ("lambda: type('Odd', (DatagramHunt,), {'draw': 7})({'int32': 1})", ("OWN.hunt.draw: the protocol cannot have "
            "this; found 7; allowed: a function")),
    ],
)  # fmt: skip
@pytest.mark.protocols("switchml")
def test_a_hunt_that_is_wrong_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bf16: str, hunt: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(f"{bf16}\nOWN = otherwise(BF16, hunt={hunt})\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        hunted_of("mine.py:OWN")
    assert told in str(caught.value)
    assert "mine.py" in str(caught.value)


@pytest.mark.protocols("switchml")
def test_what_a_hunt_does_wrong_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bf16: str) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        "class Odd(DatagramHunt):\n    def survival(self):\n        return {}['nothing']\n"
        "OWN = otherwise(BF16, hunt=lambda: Odd({'int32': 1}))\n"
    )
    Path("mine.py").write_text(f"{bf16}\n{text}", encoding="utf-8")
    hunted = hunted_of("mine.py:OWN")
    assert hunted is not None
    with pytest.raises(ScenarioError, match=r"mine\.py:\d+: the protocol's own code failed in survival: KeyError"):
        hunted.hunt.survival()


CHECK = """
from testbed.history.verdict import CheckResult, Verdict
from workloads.errors import InternalError


def _raise(error):
    raise error


def mine{parameters}:
    return {value}
"""
RESULTS = {
    "None": "returned None; allowed: a CheckResult",
    "5": "returned 5; allowed: a CheckResult",
    "'pass'": "returned 'pass'; allowed: a CheckResult",
    "[]": "returned []; allowed: a CheckResult",
    "object()": "returned <object object at",
    "_raise(KeyError('mine'))": "failed in _raise: KeyError: 'mine'",
    "_raise(InternalError('mine'))": "mine failed: InternalError: mine",
    "CheckResult": "returned <class 'testbed.history.verdict.CheckResult'>; allowed: a CheckResult",
    "CheckResult(None, Verdict.PASS, 'x')": "a CheckResult whose name is None; allowed: text",
    "CheckResult('mine', Verdict.PASS, 5)": "a CheckResult whose detail is 5; allowed: text",
    "CheckResult('mine', Verdict.FAIL, 'x', object())": "a CheckResult whose evidence is <object object at",
    "CheckResult('mine', Verdict.PASS, 'x', (5,))": "a CheckResult whose evidence[0] is 5; allowed: text",
    "CheckResult('mine', Verdict.PASS, 'x', 'line')": "a CheckResult whose evidence is 'line'; allowed: a tuple",
    **{
        f"CheckResult('mine', {verdict}, 'x')": (
            f"a CheckResult whose verdict is {verdict}; allowed: Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN"
        )
        for verdict in ("'FAIL'", "'fail'", "'pass'", "False", "True", "None", "1", "0")
    },
}


def judged(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, str]]:
    """(exit code, the last check)"""
    code = main([*RUN, "-q", "--json", *words])
    told, errors = capsys.readouterr()
    assert "Traceback" not in told + errors
    last: dict[str, str] = json.loads(told)["checks"][-1]
    return code, last


@pytest.mark.parametrize("value", RESULTS)
def test_a_checker_that_returns_a_wrong_value_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(CHECK.format(parameters="(context)", value=value), encoding="utf-8")
    code, last = judged(capsys, "--check", "mine.py:mine")
    assert (code, last["name"], last["verdict"]) == (2, "mine", "unknown")
    assert "mine.py" in last["detail"]
    assert RESULTS[value] in last["detail"]


@pytest.mark.parametrize("parameters", ["()", "(a, b)", "(*, context)"])
def test_a_checker_that_cannot_be_called_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], parameters: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(CHECK.format(parameters=parameters, value="None"), encoding="utf-8")
    code, last = judged(capsys, "--check", "mine.py:mine")
    assert (code, last["verdict"]) == (2, "unknown")
    assert "mine.py:10: mine failed: TypeError: mine() " in last["detail"]


def test_a_list_of_evidence_will_do_and_the_result_goes_by_the_name_of_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    value = "CheckResult('bit_exact', Verdict.FAIL, 'x', ['a', 'b'])"
    Path("mine.py").write_text(CHECK.format(parameters="(context)", value=value), encoding="utf-8")
    code, last = judged(capsys, "--check", "mine.py:mine")
    assert code == 1
    assert last == {"name": "mine", "verdict": "fail", "detail": "x", "evidence": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("def liveness(context): pass", ("--check", "mine.py:liveness"),
            "--check: there is a checker of this name already, of the testbed; found 'liveness' of mine.py:liveness"),
        ("def f(context): pass", ("--check", "mine.py:f", "--check", "./mine.py:f"),
            "--check: there is a checker of this name already, of mine.py:f; found 'f' of ./mine.py:f"),
        ("def near(context): pass\nOWN = NEAR", ("--set", "job.protocol=mine.py:OWN", "--check", "mine.py:near"),
            "--check: there is a checker of this name already, of mine.py:OWN; found 'near' of mine.py:near"),
        ("OWN = otherwise(BF16, checkers=lambda: (Checker('bit_exact', near, 'near'),))",
            ("--set", "job.protocol=mine.py:OWN"),
            "mine.py: there is a checker of this name already, of the testbed; found 'bit_exact' of mine.py:OWN"),
        ("from testbed.checkers import register_checker\nregister_checker('bit_exact', near, proves='near')\nf = near",
            ("--check", "mine.py:f"), "a checker named 'bit_exact' is registered already, by the testbed"),
        ("from testbed.checkers import register_checker\nregister_checker('mine', 7, proves='near')\nf = near",
            ("--check", "mine.py:f"), "the checker file cannot be loaded: TypeError: register_checker got what makes"),
    ],
)  # fmt: skip
def test_no_checker_goes_by_the_name_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], bf16: str, text: str,
    words: tuple[str, ...], told: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(f"{bf16}\n{text}\n", encoding="utf-8")
    assert main([*RUN, "-q", "--out", "run", *words]) == 64
    assert told in capsys.readouterr().err
    assert not Path("run").exists()

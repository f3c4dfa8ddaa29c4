"""A protocol, and a checker, of the user's own: the file of docs/extending.md, and what goes wrong with others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.plan import make_plan
from testbed.protocols import names
from testbed.scenario import dump_scenario, load_scenario
from testbed.scenario.own_program import code_words, with_stock_code
from testbed.scenario.protocols.known import protocol_of
from tests.support.emulated import needs_root
from tests.support.guide import OTHERWISE, own_protocol
from workloads.errors import ScenarioError

SMALL = ("--set", "job.size=20kB", "--set", "job.iterations=1", "--set", "dilation=1")
APPROXIMATE = """

from testbed.checkers import Checker, CheckContext
from testbed.history.verdict import CheckResult, Verdict
from testbed.protocols import ResultKind
from workloads.events import CollectiveCompleted


def near(context: CheckContext) -> CheckResult:
    return CheckResult("near", Verdict.PASS, f"{len(context.events(CollectiveCompleted))} results looked at")


NEAR = otherwise(
    BF16, order=Protocol.order, checkers=lambda: (Checker("near", near, proves="sums are near"),), result=lambda: ResultKind.NEAR_SUM
)
UNJUDGED = otherwise(NEAR, checkers=lambda: ())
UNLIKE = otherwise(BF16, like="")
UNORDERED = otherwise(BF16, order=Protocol.order)


def broken_plan(scenario):
    return {}["nothing"]


BROKEN = otherwise(BF16, plan=broken_plan)
ABSENT = otherwise(
    NEAR, checkers=lambda: (Checker("near", near, proves="sums are near", skip=lambda context: "not today"),)
)


def ending(plan, workers, gradients):
    import os
    os._exit(0)


ENDING = otherwise(BF16, order=ending)


def ending_plan(scenario):
    found = plan_as("switchml", scenario)
    workers = [{field.name: getattr(each, field.name) for field in fields(each)} for each in found.workers]
    return replace(found, workers=tuple(EndingConfig(**values) for values in workers))


class EndingConfig(SwitchMlConfig):
    runs = f"{__name__}:ending_host"


def ending_host(config, start_ns):
    import os
    os._exit(0)


GONE = otherwise(BF16, plan=ending_plan)


class Lying(SwitchMlWorker):
    # Reports the digest of the right sum, and holds another one.

    def handle_timer(self, now):
        super().handle_timer(now)
        if self._training._digest_at is None and any(isinstance(each, CollectiveCompleted) for each in self.events):
            self.result[0] += 1


class LyingConfig(SwitchMlConfig):
    runs = f"{__name__}:lie"


def lie(config, start_ns):
    return Lying(config, Cutting(source_of(config)), start_ns=start_ns)


def lying_plan(scenario):
    found = plan_as("switchml", scenario)
    workers = [{field.name: getattr(each, field.name) for field in fields(each)} for each in found.workers]
    return replace(found, workers=tuple(LyingConfig(**values) for values in workers))


LYING = otherwise(BF16, plan=lying_plan)


class Failing(SwitchMlWorker):
    def receive_frame(self, port, frame, now):
        raise ValueError("no frame for me")


class FailingConfig(SwitchMlConfig):
    runs = f"{__name__}:fail"


def fail(config, start_ns):
    return Failing(config, source_of(config), start_ns=start_ns)


def failing_plan(scenario):
    found = plan_as("switchml", scenario)
    workers = [{field.name: getattr(each, field.name) for field in fields(each)} for each in found.workers]
    return replace(found, workers=tuple(FailingConfig(**values) for values in workers))


FAILING = otherwise(BF16, plan=failing_plan)

from typing import Annotated

from dataclasses import dataclass

from testbed.reading.fields import whole
from testbed.reading.sections import Section


@dataclass(frozen=True, slots=True)
class Keys(Section):
    bits: Annotated[int, whole(1, 16, " (of a fraction)")] = 7


def told_plan(scenario):
    print("bits", scenario.job.own.bits)
    return plan(scenario)


KEYED = otherwise(BF16, plan=told_plan, job_keys=Keys)
"""  # noqa: E501


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bf16.py").write_text(own_protocol() + OTHERWISE + APPROXIMATE, encoding="utf-8")
    return tmp_path


def own(name: str) -> tuple[str, str]:
    return "--set", f"job.protocol=bf16.py:{name}"


def test_it_is_validated_run_judged_replayed_and_drawn(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "switchml", *own("BF16")]) == 0
    assert "job       bf16.py:BF16, 2 x synthetic" in capsys.readouterr().out
    command = ["run", "switchml-lossy", *own("BF16"), *SMALL, "--world", "simulated", "--json", "-q", "--out"]
    assert main([*command, "first"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["protocol"] == "bf16.py:BF16"
    assert {"bit_exact", "exactly_once", "faults_exercised"} <= {check["name"] for check in document["checks"]}
    kept = (here / "first/scenario.yaml").read_text(encoding="utf-8")
    assert kept.startswith("# It ran with --set job.protocol=bf16.py:BF16, which a file cannot say")
    assert "protocol: switchml" in kept
    assert main(["timeline", "first"]) == 0
    assert main(["replay", "first", "-q"]) == 64
    assert (
        "job.protocol: ran with a protocol of your own, which only a command line can name" in capsys.readouterr().err
    )
    assert main(["replay", "first", *own("BF16"), "-q", "--out", "second"]) == 0
    assert "no differences" in capsys.readouterr().out
    # What the hosts send is not what SwitchML's would.
    assert main(["replay", "first", "--set", "job.protocol=switchml", "-q", "--out", "third"]) == 1


@pytest.mark.parametrize("world", [pytest.param("emulated", marks=needs_root)])
def test_it_runs_between_namespaces(here: Path, capsys: pytest.CaptureFixture[str], world: str) -> None:
    assert (
        main(["run", "switchml-lossy", *own("BF16"), *SMALL, "--world", world, "--no-twin", "-q", "--out", "run"]) == 0
    )
    document = json.loads((here / "run/result.json").read_text(encoding="utf-8"))
    assert document["world"] == world
    assert {check["name"] for check in document["checks"] if check["verdict"] == "pass"} >= {
        "bit_exact",
        "exactly_once",
    }
    assert main(["replay", "run", *own("BF16"), "--world", "simulated", "-q", "--out", "again"]) == 0
    # Code of its own that fails in a process of its own is blamed, too.
    assert main(["run", "switchml", *own("FAILING"), *SMALL, "--world", world, "--no-twin", "-q", "--out", "bad"]) == 64
    assert "the protocol's own code failed in receive_frame: ValueError: no frame for me" in capsys.readouterr().err
    assert main(["run", "switchml", *own("GONE"), *SMALL, "--world", world, "--no-twin", "-q", "--out", "gone"]) == 64
    assert "GONE: the protocol's own code ended its process on host h" in capsys.readouterr().err


def test_the_reference_cuts_as_the_workers_do(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without its order, the sums would be called wrong."""
    text = (here / "bf16.py").read_text(encoding="utf-8")
    (here / "bf16.py").write_text(
        text.replace("[cut(gradient) for gradient in gradients]", "gradients"), encoding="utf-8"
    )
    assert main(["run", "switchml", *own("BF16"), *SMALL, "--world", "simulated", "-q", "--out", "run"]) == 1
    document = json.loads((here / "run/result.json").read_text(encoding="utf-8"))
    assert [check["name"] for check in document["checks"] if check["verdict"] == "fail"] == ["bit_exact"]
    capsys.readouterr()


def test_it_is_hunted_in(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hunt", *own("BF16"), "--schedules", "8", "--out", "drawn", "-q"]) == 0
    assert main(["hunt", "switchml", *own("BF16"), *SMALL, "--schedules", "4", "--out", "based", "-q"]) == 0
    assert main(["hunt", "--set", "job.protocol=switchml", "--schedules", "4", "-q"]) == 64
    assert "no schedule is drawn for that protocol; found 'switchml'" in capsys.readouterr().err


def test_sums_that_are_approximate_are_judged_by_its_own_checker(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "switchml", *own("NEAR"), *SMALL, "--world", "simulated", "--out", "run"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "every check passed; the sums of bf16.py:NEAR are approximate: near judges them" in told
    document = json.loads((here / "run/result.json").read_text(encoding="utf-8"))
    names = [check["name"] for check in document["checks"]]
    assert "near" in names
    assert not {"bit_exact", "exactly_once"} & set(names)
    skipped = {item["name"] for item in document["skipped"]}
    assert {"bit_exact", "exactly_once"} <= skipped


def test_a_protocol_whose_only_judge_is_skipped_does_not_pass(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "switchml", *own("ABSENT"), *SMALL, "--world", "simulated", "-q", "--out", "run"]) == 2
    document = json.loads((here / "run/result.json").read_text(encoding="utf-8"))
    assert document["verdict"] == "unknown"
    assert [check["detail"] for check in document["checks"] if check["verdict"] == "unknown"] == [
        "every checker that could judge the sums of bf16.py:ABSENT was skipped"
    ]


def test_a_pass_says_whose_reference_it_was(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "switchml", *own("BF16"), *SMALL, "--world", "simulated", "--out", "run"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "bit for bit, what bf16.py:BF16 says that it must be, and every check passed; code of bf16" in told
    assert "every result is exact" not in told
    document = json.loads((here / "run/result.json").read_text(encoding="utf-8"))
    assert document["reference"] == {"sums": "bf16.py:BF16", "digests": "bf16.py:BF16"}


def test_digests_are_of_the_bytes_that_a_host_holds(here: Path) -> None:
    """Its code computes one before it spoils the result."""
    assert main(["run", "switchml", *own("LYING"), *SMALL, "--world", "simulated", "-q", "--out", "run"]) == 1
    document = json.loads((here / "run/result.json").read_text(encoding="utf-8"))
    assert [check["name"] for check in document["checks"] if check["verdict"] == "fail"] == ["bit_exact"]


def test_code_that_ends_its_process_ends_no_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the reference: that check is unknown, and the others stand. On a host: it is blamed."""
    assert main(["run", "switchml", *own("ENDING"), *SMALL, "--world", "simulated", "-q", "--out", "run"]) == 2
    document = json.loads((here / "run/result.json").read_text(encoding="utf-8"))
    assert {check["name"]: check["detail"] for check in document["checks"] if check["verdict"] != "pass"} == {
        "bit_exact": "the checker itself failed: it ended its process (exit code 0)"
    }
    assert main(["run", "switchml", *own("GONE"), *SMALL, "--world", "simulated", "-q", "--out", "gone"]) == 64
    assert "bf16.py: GONE: the protocol's own code ended its process (exit code 0)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NOPE", ("the protocol file bf16.py has no such protocol; found 'NOPE'; allowed: BF16, NEAR, UNJUDGED, "
                  "UNLIKE, "
                 "UNORDERED, BROKEN, ABSENT, ENDING, GONE, LYING, FAILING, KEYED")),
        ("Cutting", "the protocol file bf16.py has no such protocol; found 'Cutting', which is type; allowed: BF16,"),
        ("UNLIKE", ("protocol UNLIKE does not say which protocol of ours a kept scenario file names instead of it "
                   "(like); found ''; allowed: atp, binomial_tree,")),
        ("UNJUDGED", "protocol UNJUDGED sums approximately, and no checker of its own judges that (checkers)"),
        ("UNORDERED", ("protocol UNORDERED does not say in which order it adds (order), and its sums are not "
                      "approximate")),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused(here: Path, name: str, text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario("switchml", [own(name)[1]])
    assert str(caught.value).startswith(f"--set: job.protocol: {text}")


def test_files_that_do_not_load_are_named(here: Path) -> None:
    (here / "torn.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario("switchml", ["job.protocol=torn.py:X"])
    assert str(caught.value).startswith(
        "torn.py:1: the protocol file cannot be loaded: ModuleNotFoundError: No module named"
    )
    assert "named by job.protocol of --set" in str(caught.value)
    with pytest.raises(ScenarioError) as caught:
        load_scenario("switchml", ["job.protocol=gone.py:X"])
    assert str(caught.value) == "--set: job.protocol: no such protocol file; found 'gone.py'; allowed: a .py file"


def test_a_scenario_file_cannot_name_it(here: Path) -> None:
    loaded = load_scenario("switchml", [own("BF16")[1]])
    assert code_words(loaded) == list(own("BF16"))
    assert with_stock_code(loaded).job.protocol == protocol_of("bf16.py:BF16").like == "switchml"
    (here / "s.yaml").write_text(dump_scenario(loaded), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario("s.yaml")
    assert str(caught.value).endswith(
        "job.protocol: a scenario file cannot name code to run; found 'bf16.py:BF16'; allowed: "
        f"{', '.join(names())}; give it on the command line: --set job.protocol=bf16.py:BF16"
    )


def test_it_may_add_keys_to_the_job(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_it, bits = own("KEYED")[1], "job.bits=3"
    assert load_scenario("switchml", [of_it]).job.own.bits == 7
    loaded = load_scenario("switchml", [of_it, bits])
    assert make_plan(loaded).workers
    assert capsys.readouterr().out == "bits 3\n" * 2, "a draft from which timers follow, and the plan"
    assert code_words(loaded) == ["--set", of_it, "--set", bits]
    assert with_stock_code(loaded) == load_scenario("switchml")
    with pytest.raises(ScenarioError, match=r"--set: job\.bits: .*found 17; allowed: .*1 to 16 \(of a fraction\)"):
        load_scenario("switchml", [of_it, "job.bits=17"])
    with pytest.raises(ScenarioError, match=r"--set: job\.bits: unknown key; allowed: "):
        load_scenario("switchml", [bits])
    run = ["run", "switchml", "--set", of_it, "--set", bits, *SMALL, "--world", "simulated", "-q", "--out"]
    assert main([*run, "first"]) == 0
    assert main(["replay", "first", "--set", of_it, "--set", bits, "-q", "--out", "second"]) == 0
    assert "no differences" in capsys.readouterr().out
    assert main(["replay", "first", "--set", of_it, "--set", "job.size=4kB", "-q"]) == 64


@pytest.mark.parametrize("name", ["BROKEN", "FAILING"])
def test_what_its_code_raises_is_told_as_its_own(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["run", "switchml", *own(name), *SMALL, "--world", "simulated", "-q"]) == 64
    told = capsys.readouterr().err
    where, what = {
        "BROKEN": ("broken_plan", "KeyError: 'nothing'"), "FAILING": ("receive_frame", "ValueError: no frame for me"),
    }[name]  # fmt: skip
    assert told.startswith("tb: bf16.py:") or "/bf16.py:" in told
    assert f"the protocol's own code failed in {where}: {what}" in told


CHECK = """
from testbed.checkers import CheckContext
from testbed.history.verdict import CheckResult, Verdict
from workloads.events import DatagramResent


def no_resends(context: CheckContext) -> CheckResult:
    found = len(context.events(DatagramResent))
    return CheckResult("no_resends", Verdict.PASS if not found else Verdict.FAIL, f"{found} packets were sent again")


def torn(context):
    raise ValueError("torn")


def mute(context):
    return None


def gone(context):
    import os
    os._exit(0)


def quits(context):
    raise SystemExit(0)
"""


def test_a_checker_of_ones_own_judges(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine.py").write_text(CHECK, encoding="utf-8")
    run = ["run", "switchml", *SMALL, "--world", "simulated", "--json", "-q", "--check"]
    assert main([*run, "mine.py:no_resends"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["checks"][-1] == {
        "name": "no_resends", "verdict": "pass", "detail": "0 packets were sent again", "evidence": []
    }  # fmt: skip
    assert document["replay"].endswith("--check mine.py:no_resends")
    lossy = ["run", "switchml-lossy", *SMALL, "--world", "simulated", "-q", "--check"]
    assert main([*lossy, "mine.py:no_resends"]) == 1
    for name, told in (
        ("torn", "ValueError"),
        ("mute", "mine.py:16: mute returned None; allowed: a CheckResult"),
        ("gone", "it ended its process (exit code 0)"),
        ("quits", "failed in quits: SystemExit: 0"),
    ):
        capsys.readouterr()
        assert main([*run, f"mine.py:{name}"]) == 2
        assert told in json.loads(capsys.readouterr().out)["checks"][-1]["detail"]
    for name, text in (
        (
            "mine.py:none",
            "--check: the checker file mine.py has no such checker; found 'none'; allowed: no_resends, torn, mute",
        ),
        ("mine.py", "--check: no checker of your own; found 'mine.py'; allowed: PATH.py:FUNCTION"),
        ("gone.py:x", "--check: no such checker file; found 'gone.py'; allowed: a .py file"),
    ):
        assert main([*run, name]) == 64
        assert capsys.readouterr().err.startswith(f"tb: {text}")

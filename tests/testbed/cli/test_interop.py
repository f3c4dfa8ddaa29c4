"""`tb interop`: what is asked of the suite, what is printed, how it exits."""

from __future__ import annotations

import json
import re
import signal

import pytest

from testbed.cli import main
from testbed.history.verdict import CheckResult, Verdict
from testbed.interop.cases import CASES
from testbed.interop.judging import CaseOutcome, Traffic
from testbed.interop.suite import SuiteResult
from tests.support.fake_modules import install_fake
from workloads.errors import HostCapabilityError


def outcome(case, verdict=Verdict.PASS, detail="", traffic=None):
    return CaseOutcome(case, verdict, detail, (CheckResult("bit_exact", verdict, detail),), 1, traffic, 0.5)


@pytest.fixture
def suite(monkeypatch, tmp_path):
    """A suite whose outcomes a test sets; what it was asked."""
    made = {"outcomes": (outcome("loss/middle", traffic=Traffic(420, 25)),), "asked": []}

    def run_suite(cases, *, say, tell, **options):
        made["asked"].append(([case.id for case in cases], options))
        if isinstance(made["outcomes"], Exception):
            raise made["outcomes"]
        say("booting")
        for one in made["outcomes"]:
            tell(one)
        return SuiteResult(made["outcomes"], {"kernel": "6.1"}, 1.0, 24.0, 60.25)

    install_fake(monkeypatch, "testbed.interop.suite", run_suite=run_suite)
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    yield made
    signal.signal(signal.SIGTERM, before)


def test_all_cases_once_by_default(suite, capsys):
    assert main(["interop"]) == 0
    ((ids, options),) = suite["asked"]
    assert ids == [case.id for case in CASES]
    assert options == {"seed": 1, "repeat": 1, "guests": None, "where": "auto", "keep": None}
    assert capsys.readouterr().out == (
        "booting\n"
        "pass    loss/middle                          1 hits    420 packets,    25 again   0.50 s\n"
        "pass: 1 of 1 cases passed in 60.2 s (prepared 1.0 s, booted 24.0 s)\n"
    )


def test_options_reach_the_suite(suite, tmp_path, capsys):
    words = [
        "--cases",
        "loss/*",
        "--cases",
        "plain/shift",
        "--repeat",
        "3",
        "--seed",
        "9",
        "--guests",
        "3",
        "--where",
        "host",
        "--keep",
    ]
    assert main(["interop", *words]) == 0
    ((ids, options),) = suite["asked"]
    assert ids == [case.id for case in CASES if case.id.startswith("loss/") or case.id == "plain/shift"]
    assert (options["seed"], options["repeat"], options["guests"]) == (9, 3, 3)
    assert options["where"] == "host"
    assert options["keep"].parent == tmp_path / "runs"
    assert re.fullmatch(r"interop-\d{8}-\d{6}-\d+", options["keep"].name)
    assert f"Run directory: {options['keep']}\n" in capsys.readouterr().out


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.FAIL, 1), (Verdict.UNKNOWN, 2)])
def test_what_did_not_pass_is_named(suite, capsys, verdict, code):
    suite["outcomes"] = (outcome("plain/shift"), *[outcome("loss/middle", verdict, "bit_exact: wrong")] * 2)
    assert main(["interop"]) == code
    text = capsys.readouterr().out
    assert f"{verdict}: 1 of 3 cases passed" in text
    assert text.endswith("not passed: loss/middle\n")
    assert "  bit_exact: wrong\n" in text


def test_json_stands_alone_on_stdout(suite, capsys):
    assert main(["interop", "--json"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["schema"] == 1
    assert told["seconds"] == {"prepared": 1.0, "booted": 24.0, "total": 60.25}
    assert told["cases"][0]["retransmissions"] == 25
    assert "booting" in err


def test_the_table_is_markdown_behind_all_else(suite, capsys):
    assert main(["interop", "--table"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n\n| case | hits | packets | sent again | verdict |\n|---|---|---|---|---|\n"
        "| loss/middle | 1 | 420 | 25 | pass |\n\n"
    )


def test_the_list_needs_no_guest(suite, capsys):
    assert main(["interop", "--list", "--cases", "control/*"]) == 0
    assert capsys.readouterr().out.split() == [case.id for case in CASES if case.id.startswith("control/")]
    assert suite["asked"] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--cases", "los/*"], "no case fits"),
        (["--repeat", "0"], "found '0'; allowed: a whole number from 1 to 1000"),
        (["--repeat", "x"], "found 'x'; allowed: a whole number from 1 to 1000"),
        (["--seed", "-1"], "found '-1'"),
    ],
)
def test_wrong_words_are_usage(suite, capsys, words, told):
    assert main(["interop", *words]) == 64
    assert told in capsys.readouterr().err
    assert suite["asked"] == []


def test_a_host_without_the_pieces_exits_3(suite, capsys):
    suite["outcomes"] = HostCapabilityError("the Debian packages perftest", "install them")
    assert main(["interop"]) == 3
    assert "perftest" in capsys.readouterr().err


def test_being_ended_is_being_interrupted(suite):
    main(["interop"])
    with pytest.raises(KeyboardInterrupt):
        signal.getsignal(signal.SIGTERM)(signal.SIGTERM, None)

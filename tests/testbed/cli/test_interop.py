from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from testbed.cli import main
from testbed.interop.cases import CASES
from testbed.interop.judging import CaseOutcome, Traffic
from testbed.interop.leg import LegResult
from testbed.verdict import Verdict
from tests.support.fake_modules import install_fake
from workloads.errors import HostCapabilityError

GOOD = CaseOutcome("loss/middle", Verdict.PASS, "", (), 1, Traffic(421, 25), 1.5)
BAD = CaseOutcome("plain/shift", Verdict.FAIL, "bit_exact: no", (), 0, None, 0.5)


@pytest.fixture
def leg(monkeypatch):
    asked = SimpleNamespace(outcomes=(GOOD,), error=None, cases=(), options={})

    def run_leg(cases, **options):
        asked.cases, asked.options = cases, options
        if asked.error:
            raise asked.error
        for outcome in asked.outcomes:
            options["tell"](outcome)
        return LegResult(asked.outcomes, {"kernel": "6.1"}, 0.5, 10.0, 20.0)

    install_fake(monkeypatch, "testbed.interop.leg", run_leg=run_leg)
    return asked


def test_the_cases_can_be_listed_without_running_any(leg, capsys):
    assert main(["interop", "--list"]) == 0
    assert capsys.readouterr().out.split() == [case.id for case in CASES]
    assert leg.options == {}


def test_what_is_asked_for_is_run(leg):
    assert main(["interop", "--cases", "loss/m*", "--cases", "loss/last", "--repeat", "3", "--seed", "9"]) == 0
    assert [case.id for case in leg.cases] == ["loss/middle", "loss/last"]
    assert (leg.options["repeat"], leg.options["seed"], leg.options["keep"]) == (3, 9, None)


def test_the_table_and_the_exit_code(leg, capsys):
    leg.outcomes = (GOOD, BAD)
    assert main(["interop"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["pass", "loss/middle", "1", "strikes", "421", "packets,", "25", "again", "1.50", "s"]
    assert lines[1].split() == ["fail", "plain/shift", "0", "strikes", "0.50", "s", "bit_exact:", "no"]
    assert lines[2:] == [
        "fail: 1 of 2 cases passed in 20.0 s (prepared 0.5 s, booted 10.0 s)",
        "not passed: plain/shift",
    ]


def test_json_stands_alone_on_stdout(leg, capsys):
    assert main(["interop", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["verdict"], document["cases"][0]["retransmissions"]) == ("pass", 25)
    assert document["seconds"] == {"prepared": 0.5, "booted": 10.0, "total": 20.0}
    assert "loss/middle" in err


def test_what_is_missing_is_exit_3(leg, capsys):
    leg.error = HostCapabilityError("the Debian packages perftest", "install them")
    assert main(["interop"]) == 3
    assert capsys.readouterr().err == "tb: this machine lacks the Debian packages perftest; install them\n"


@pytest.mark.parametrize("words", [["--cases", "nothing/*"], ["--repeat", "0"], ["--repeat", "x"], ["--seed", "-1"]])
def test_wrong_flags_are_exit_64(leg, words):
    assert main(["interop", *words]) == 64
    assert leg.options == {}

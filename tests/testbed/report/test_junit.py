from __future__ import annotations

from xml.etree import ElementTree

from testbed.report.junit import junit_xml
from testbed.terminal.numbers import seconds
from tests.support.results import REPLAY, failing_context, lossy_context, result_of

TOOK_S = 1.25


def suite_of(result, **options):
    return ElementTree.fromstring(junit_xml(result, TOOK_S, **options)).find("testsuite")


def test_passing_run(tmp_path, monkeypatch):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    suite = suite_of(result)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        "10",
        "0",
        "0",
        "0",
    )
    assert suite.get("time") == "1.250"
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases][:3] == ["run", "bit_exact", "exactly_once"]
    assert [case.get("time") for case in cases] == ["1.250"] + 9 * ["0.000"]
    assert cases[0].find("system-out").text == (
        f"verdict pass; {seconds(result['metrics']['duration_s'])} of the run's own time"
    )
    assert suite.find("testcase").get("classname") == "emulated.small"
    assert [(item.get("name"), item.get("value")) for item in suite.find("properties")] == [("dilation", "1")]


def test_failing_run(monkeypatch):
    result = result_of(failing_context(), monkeypatch)
    suite = suite_of(result)
    of = [check["verdict"] for check in result["checks"]]
    assert int(suite.get("failures")) == of.count("fail") > 0
    assert int(suite.get("errors")) == of.count("unknown") > 0
    assert suite.get("skipped") == "1"
    # It has a duration, though no job was completed.
    assert result["metrics"]["jct_s"] is None
    assert f"{seconds(result['metrics']['duration_s'])} of the run's own time" in suite.find("testcase/system-out").text
    cases = {case.get("name"): case for case in suite}
    assert cases["liveness"].find("failure").get("message") == next(
        check["detail"] for check in result["checks"] if check["name"] == "liveness"
    )
    assert REPLAY in cases["liveness"].find("failure").text
    assert cases["bit_exact"].find("error").get("type") == "unknown"
    assert "capture" in cases["transparency"].find("skipped").get("message")


def test_what_xml_has_no_word_for(monkeypatch):
    result = result_of(failing_context(), monkeypatch)
    result["checks"][2]["detail"] = 'a\x00b\x1b[31m <c> & "d" \ud800 \U0001f600'
    result["checks"][2]["evidence"] = ["]]>", "\x07"]
    failure = next(case for case in suite_of(result) if case.get("name") == "liveness").find("failure")
    assert failure.get("message") == 'a\ufffdb\ufffd[31m <c> & "d" \ufffd \U0001f600'
    assert failure.text.splitlines()[:2] == ["]]>", "\ufffd"]


def test_an_expected_verdict_fails_no_case(monkeypatch):
    result = result_of(failing_context(), monkeypatch) | {"verdict": "fail", "expect": "fail"}
    suite = suite_of(result, expect=True)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert suite.findall("testcase/failure") + suite.findall("testcase/error") == []
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert cases["liveness"].find("system-out").text.startswith("fail, in a run that was to show fail: ")
    assert int(suite_of(result).get("failures")) > 0, "without the option they are what they are"


def test_another_verdict_than_the_expected_one_is_a_failure_of_the_run(tmp_path, monkeypatch):
    result = result_of(lossy_context(tmp_path), monkeypatch) | {"expect": "fail"}
    suite = suite_of(result, expect=True)
    assert suite.get("failures") == "1"
    failure = suite.find("testcase/failure")
    assert failure.get("message") == "pass, and fail was expected"
    assert suite_of(result).get("failures") == "0"

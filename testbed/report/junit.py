"""JUnit XML: one test case per check, as CI systems read it."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from testbed.terminal.numbers import seconds

__all__ = ["junit_xml"]

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""what XML 1.0 section 2.2 has no word for, escaped or not"""


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def junit_xml(result: dict[str, Any], took_s: float = 0.0, *, expect: bool = False) -> str:
    """`result`: the document of result.json. An unknown is an error, so that no CI takes it for a success. `took_s`: by
    the clock on the wall, how long the run took; it stands next to the case `run`, since checks are judged afterwards.
    `expect`: what counts is whether the scenario's expected verdict came; when it did, no case fails."""
    checks, skipped = result["checks"], result["skipped"]
    came = expect and result["verdict"] == result["expect"]
    of = [] if came else [check["verdict"] for check in checks]
    missed = expect and not came
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(f"{result['scenario']} ({result['world']}, seed {result['seed']})"),
        tests=str(len(checks) + len(skipped) + 1),
        failures=str(of.count("fail") + missed),
        errors=str(of.count("unknown")),
        skipped=str(len(skipped)),
        time=f"{took_s:.3f}",
    )
    if result.get("dilation") is not None:
        properties = ElementTree.SubElement(suite, "properties")
        values = {"dilation": str(result["dilation"]["factor"])}
        if result.get("twin") is not None and result["twin"]["deviation"] is not None:
            values["deviation from the twin in virtual time"] = f"{result['twin']['deviation']:+.2%}"
        for name, value in values.items():
            ElementTree.SubElement(properties, "property", name=name, value=_clean(value))
    _run_case(suite, result, took_s, expect=expect)
    for check in checks:
        case = _case(suite, result, check["name"])
        if check["verdict"] == "pass" or came:
            why = (
                ""
                if check["verdict"] == "pass"
                else f"{check['verdict']}, in a run that was to show {result['expect']}: "
            )
            ElementTree.SubElement(case, "system-out").text = _clean(why + check["detail"])
            continue
        tag = "failure" if check["verdict"] == "fail" else "error"
        element = ElementTree.SubElement(case, tag, message=_clean(check["detail"]), type=check["verdict"])
        element.text = _clean("\n".join([*check["evidence"], f"replay: {result['replay']}"]))
    for item in skipped:
        ElementTree.SubElement(_case(suite, result, item["name"]), "skipped", message=_clean(item["reason"]))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _run_case(suite: ElementTree.Element, result: dict[str, Any], took_s: float, *, expect: bool) -> None:
    """The run as a whole: how long it took, and whether the expected verdict came where that is asked."""
    case = _case(suite, result, "run", took_s)
    simulated = result["metrics"]["duration_s"]
    own_time = "" if simulated is None else f"; {seconds(simulated)} of the run's own time"
    summary = f"verdict {result['verdict']}{own_time}"
    if expect and result["verdict"] != result["expect"]:
        message = f"{result['verdict']}, and {result['expect']} was expected"
        ElementTree.SubElement(case, "failure", message=message, type="expect").text = _clean(
            f"replay: {result['replay']}"
        )
    else:
        ElementTree.SubElement(case, "system-out").text = _clean(summary)


def _case(suite: ElementTree.Element, result: dict[str, Any], name: str, took_s: float = 0.0) -> ElementTree.Element:
    classname = _clean(f"{result['world']}.{result['scenario']}")
    return ElementTree.SubElement(suite, "testcase", classname=classname, name=_clean(name), time=f"{took_s:.3f}")

from __future__ import annotations

from testbed.history.verdict import Verdict
from testbed.interop.judging import CaseOutcome, Traffic
from testbed.interop.table import markdown_table, rule_a_line


def outcome(case, strikes=0, again=None, verdict=Verdict.PASS):
    traffic = None if again is None else Traffic(400 + again, again)
    return CaseOutcome(case, verdict, "", (), strikes, traffic, 0.5)


def test_a_row_per_case_and_the_line_on_rule_a():
    outcomes = [
        outcome("loss/middle", 1, 20), outcome("chance/loss-1", 12, 300), outcome("asap/middle", 1, 170),
        outcome("asap/loss-1", 10, 450), outcome("peer/send-bw"),
    ]  # fmt: skip
    assert markdown_table(outcomes) == (
        "| case | hits | packets | sent again | verdict |\n"
        "|---|---|---|---|---|\n"
        "| loss/middle | 1 | 420 | 20 | pass |\n"
        "| chance/loss-1 | 12 | 700 | 300 | pass |\n"
        "| asap/middle | 1 | 570 | 170 | pass |\n"
        "| asap/loss-1 | 10 | 850 | 450 | pass |\n"
        "| peer/send-bw | 0 | - | - | pass |\n"
        "\n"
        "Rule A (release in PSN order) against release as soon as complete, packets sent again per hit of a "
        "fault: 20.0 in `loss/middle`, 170.0 in `asap/middle`, 8.5 times as many; 25.0 in `chance/loss-1`, 45.0 in "
        "`asap/loss-1`, 1.8 times as many.\n"
    )


def test_rounds_are_one_row_with_the_worst_verdict():
    rounds = [
        outcome("loss/middle", 1, 20),
        outcome("plain/shift", 0, 0),
        outcome("loss/middle", 3, 16, Verdict.UNKNOWN),
    ]
    assert markdown_table(rounds).splitlines()[2:] == [
        "| loss/middle | 1 to 3 | 416 to 420 | 16 to 20 | unknown (2 rounds) |",
        "| plain/shift | 0 | 400 | 0 | pass |",
    ]


def test_rule_a_is_compared_per_strike_and_not_without_a_partner():
    assert rule_a_line([outcome("loss/middle", 1, 20), outcome("asap/loss-1", 1, 20)]) == ""
    line = rule_a_line([outcome("loss/middle", 1, 0), outcome("asap/middle", 1, 100), outcome("asap/middle", 3, 200)])
    assert line.endswith("fault: 0.0 in `loss/middle`, 75.0 in `asap/middle`.")

from hypothesis import given
from hypothesis import strategies as st

from testbed.history.verdict import CheckResult, Verdict, merge, merge_results

verdicts = st.sampled_from(list(Verdict))


@given(st.lists(verdicts))
def test_the_heaviest_wins(parts):
    expected = Verdict.FAIL if Verdict.FAIL in parts else Verdict.UNKNOWN if Verdict.UNKNOWN in parts else Verdict.PASS
    assert merge(parts) is expected


@given(st.lists(verdicts), st.randoms())
def test_order_does_not_matter(parts, random):
    shuffled = list(parts)
    random.shuffle(shuffled)
    assert merge(shuffled) is merge(parts)


@given(st.lists(verdicts), st.lists(verdicts))
def test_merging_parts_first_changes_nothing(one, other):
    assert merge([merge(one), merge(other)]) is merge(one + other)


@given(verdicts)
def test_pass_is_neutral_and_repetition_adds_nothing(verdict):
    assert merge([verdict, Verdict.PASS]) is verdict
    assert merge([verdict, verdict]) is verdict


def test_a_run_that_nothing_checked_is_unknown():
    assert merge_results([]) is Verdict.UNKNOWN
    assert merge_results([CheckResult("a", Verdict.PASS, "")]) is Verdict.PASS


def test_exit_codes():
    assert [verdict.exit_code for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN)] == [0, 1, 2]

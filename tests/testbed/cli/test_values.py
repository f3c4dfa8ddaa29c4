"""Options that take a number, a duration or a size, and suggestions for what is spelt wrong."""

import argparse

import pytest

from testbed.cli import main
from testbed.cli.values import duration, seed, size, whole


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("1e3", 1000), ("1000.0", 1000), ("0x10", 16), ("1.5e1", 15)])
def test_whole_numbers_however_they_are_written(text, number):
    assert whole(1, 1000)(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1.5", "1e400", "-1", "0", "1001", "nan", "inf", "1_000", "9" * 5000, "1e-3", "٣"]
)
def test_what_is_no_whole_number_in_the_range(text):
    with pytest.raises(argparse.ArgumentTypeError, match="allowed: a whole number from 1 to 1000"):
        whole(1, 1000)(text)


@pytest.mark.parametrize("text", ["1e400s", "0", "-1s", "nan", "inf", "1", "9" * 5000 + "s", "1e-30s", "s"])
def test_durations_and_sizes_have_bounds(text):
    with pytest.raises(argparse.ArgumentTypeError):
        duration(least_ns=1)(text)
    with pytest.raises(argparse.ArgumentTypeError):
        size(4, 1 << 32)(text.replace("s", "GB"))
    with pytest.raises(argparse.ArgumentTypeError):
        seed("1e30")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("run rack --sed 3", "tb run: there is no option --sed; did you mean '--seed'?"),
        ("card check --card x --jsn", "tb card: there is no option --jsn; did you mean '--json'?"),
        ("lab upp", "did you mean 'up'?"),
        ("validate rack --set job.hosts=[host2,h1]", "no such host; found 'host2'"),
        ("validate rack --set job.hosts=[host2,h1]", "did you mean 'h2'?"),
        ("validate link-flap --set faults[0].links=s1-h1", "did you mean 'h1-s1'?"),
        ("sweep rack --axis job.iterations=0:2", "{from: 0, to: 2, step: 1}"),
        ("sweep rack-lossy --axis faults.loss.rate=0,1% --figures jct", "did you mean 'jct_s'?"),
        ("sweep rack-lossy --axis faults.loss.rate=0,1% --figures faults.los.strikes", "allowed: faults.loss.strikes"),
        ("train rack --timeout 1e400s --world simulated -- X.py", "--timeout: found '1e400s'"),
        ("train rack --timeout 0 --world simulated -- X.py", "--timeout: found '0'"),
        ("train rack --world simulated -- X.py", "COMMAND: no such script; found X.py"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(words, text, capsys):
    assert main(words.split()) == 64
    out, err = capsys.readouterr()
    assert text in err
    assert not out


@pytest.mark.parametrize(
    ("quantity", "value", "text"), [(duration(), 60 * 10**9, "60s"), (size(1, 1 << 40), 256 << 20, "256MiB")]
)
def test_a_quantity_is_shown_as_it_is_read(quantity, value, text):
    assert quantity.show(value) == text
    assert quantity(text) == value

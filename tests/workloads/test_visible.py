import json

import pytest

from workloads.visible import ESCAPED, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\r\nwith lines\n", "plain\ttext\r\nwith lines\n"),
        ("größe 中文 🙂", "größe 中文 🙂"),
        ("a\0b\x1b[31mc\x07", "a\\u0000b\\u001b[31mc\\u0007"),
        ("\x7f\x80\x9b31m", "\\u007f\\u0080\\u009b31m"),
        ("over\rwritten", "over\\u000dwritten"),
        ("\u202ertl\u2066\u200f\u061c", "\\u202ertl\\u2066\\u200f\\u061c"),
        ("\ud800 \udce9 \uffff \ufeff", "\\ud800 \\udce9 \\uffff \\ufeff"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("two\u2028lines", "two\\u2028lines"),
    ],
)
def test_what_cannot_be_seen_is_escaped(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown
    visible(text).encode()


def test_json_reads_escapes_as_the_characters():
    text = "a\x9b\u202e\ud800\U000e0041ß🙂"
    document = json.dumps(text, ensure_ascii=False)
    assert json.loads(visible(document)) == text
    assert json.loads(document.encode("ascii", ESCAPED)) == text


def test_encodings_escape_what_they_lack():
    assert "ß🙂".encode("ascii", ESCAPED) == b"\\u00df\\ud83d\\ude42"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", ESCAPED)

from __future__ import annotations

import io

import pyte
import pytest

from testbed.terminal.statusline import StatusLine


def shown(stream: io.StringIO, columns: int) -> list[str]:
    screen = pyte.Screen(columns, 10)
    stream_ = pyte.Stream(screen)
    stream_.feed(stream.getvalue().replace("\n", "\r\n"))
    assert not screen.cursor.hidden
    return [line.rstrip() for line in screen.display]


@pytest.mark.parametrize("columns", [50, 80, 200])
def test_a_line_that_moves_down_and_goes(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    line = StatusLine(stream)
    line.show(0.5, "iteration 1 of 2, 128 of 256 results, 17 strikes, 3 retransmissions")
    assert shown(stream, columns)[0].startswith("━" * 30 + "  50% iteration 1")
    assert shown(stream, columns)[1] == "", "it takes one line alone"
    line.say("something happened")
    line.show(1.0, "all of it")
    assert shown(stream, columns)[:2] == ["something happened", "━" * 30 + " 100% all of it"]
    line.close()
    line.close()
    assert shown(stream, columns)[:3] == ["something happened", "", ""]


def test_it_never_hides_the_cursor() -> None:
    stream = io.StringIO()
    line = StatusLine(stream)
    line.show(0.2, "on its way")
    assert "\x1b[?25l" not in stream.getvalue(), "whatever ends the program now, the cursor is there"

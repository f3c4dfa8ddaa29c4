"""Completions, asked of a real shell, and the man page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.cli.commands import COMMANDS


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    pytest.importorskip("shtab", reason="the extra `shell` is not installed")
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "tb.bash"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


def completed(script: Path, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    ask = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _shtab_tb; printf '%s\\n' "
        f'"${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", ask], cwd=script.parent, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_built_ins(script: Path) -> None:
    assert completed(script, "tb", "swe") == ["sweep"]
    assert set(completed(script, "tb", "")) >= set(COMMANDS)
    assert completed(script, "tb", "run", "rack-lo") == ["rack-lossy"]
    assert set(completed(script, "tb", "sweep", "netreduce-s")) == {"netreduce-scale"}
    assert completed(script, "tb", "run", "rack", "--exp") == ["--expect"]
    (script.parent / "rack-mine.yaml").touch()
    assert set(completed(script, "tb", "run", "rack-m")) == {"rack-mine.yaml"}
    assert completed(script, "tb", "list", "fau") == ["faults"]


def test_zsh_and_tcsh_have_scripts_too(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="the extra `shell` is not installed")
    assert main(["completion", "zsh"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("#compdef tb")
    assert "rack-lossy" in text
    assert main(["completion", "tcsh"]) == 0
    assert "complete tb" in capsys.readouterr().out


def test_the_man_page_has_every_command_and_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("argparse_manpage", reason="the extra `shell` is not installed")
    assert main(["completion", "man"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(".TH TB")
    assert [name for name in COMMANDS if f"tb\\fR \\fI\\,{name}\\/\\fR" not in text] == []
    for option in ("seeds", "expect", "schedules"):
        assert f"\\-\\-{option}" in text


@pytest.mark.parametrize(("what", "package"), [("bash", "shtab"), ("man", "argparse-manpage")])
def test_without_the_library_it_says_how_to_have_it(
    what: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("shtab", "argparse_manpage", "argparse_manpage.manpage"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["completion", what]) == 3
    assert f"lacks the Python package {package} for" in capsys.readouterr().err


def test_another_word_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 64
    assert "argument WHAT: found 'fish'; allowed: bash, zsh, tcsh, man" in capsys.readouterr().err

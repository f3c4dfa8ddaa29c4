"""`tb release --dry-run` on a small project: each thing that a release may lack is named."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import __version__
from testbed.cli import releasing
from testbed.cli.main import main

CHECKS = dict(releasing._CHECKS)
FILES = {
    "tests/test_none.py": "",
    "testbed/__init__.py": "",
    "testbed/table.json": "{}",
    "README.md": "# Small\n\nSee [the licence](LICENSE) and [a site](https://example.org/).\n",
    "LICENSE": "Apache\n",
    "CITATION.cff": f"title: small\nversion: {__version__}\n",
    "docs/changelog.md": f"# Changelog\n\n## [Unreleased]\n\n## [{__version__}] - 2026-11-27\n\n- All.\n",
    "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n',
    "setup.cfg": (
        f"[metadata]\nname = small\nversion = {__version__}\ndescription = Small\nlicense = Apache-2.0\n"
        "long_description = file: README.md\nlong_description_content_type = text/markdown\n"
        "[options]\npackages = testbed\npython_requires = >=3.11\ninclude_package_data = True\n"
        "[options.package_data]\n* = *.json\n"
    ),
    ".gitignore": "/build/\n*.egg-info/\n",
}
Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Commits the files with these changes (None: no such file), and makes it the project."""

    def make(**changes: str | None) -> Path:
        named = {name: changes.get(name.split("/")[-1].split(".")[0].lower(), text) for name, text in FILES.items()}
        for name, text in named.items():
            if text is not None:
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_text(text)
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", "-A")
        git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "All")
        return tmp_path

    monkeypatch.setattr(releasing, "_TOP", tmp_path)
    return make


def git(top: Path, *words: str) -> None:
    subprocess.run(["git", "-C", top, *words], check=True)


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What was printed of each check."""
    lines = capsys.readouterr().out.splitlines()[:-1]
    return {line[9:20].strip(): line[:9].strip() + " " + line[20:] for line in lines}


def test_a_whole_release_is_built_and_not_uploaded(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    top = project()
    assert main(["release", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert f"ready: {__version__}; nothing was uploaded" in text
    assert "MISSING" not in text
    assert sorted(path.suffix for path in (top / "build/release").iterdir()) == [".gz", ".whl"]


CHANGES = FILES["docs/changelog.md"]
SETUP = FILES["setup.cfg"]
BUILT = ["sdist", "wheel", "metadata"]


@pytest.mark.parametrize(
    ("check", "changes", "text"),
    [
        (
            "version",
            {"citation": "version: 9.9\n"},
            f"CITATION.cff: version: 9.9; testbed/__init__.py has {__version__}",
        ),
        ("version", {"citation": "title: small\n"}, "CITATION.cff: version: None"),
        ("changelog", {"changelog": "## [Unreleased]\n"}, f"no section `## [{__version__}] - YYYY-MM-DD`"),
        ("changelog", {"changelog": CHANGES.replace("- All.\n", "## [0.0.1] - 2026-01-01\n\n- A.\n")}, "with text"),
        ("changelog", {"changelog": CHANGES.replace(" - 2026-11-27", "")}, "YYYY-MM-DD"),
        (
            "changelog",
            {"changelog": CHANGES.replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n")},
            f"[Unreleased] has text; move it to [{__version__}]",
        ),
        ("readme", {"readme": "# Small\n\n[a page](docs/gone.md#part)\n"}, "README.md: no file docs/gone.md"),
        ("readme", {"readme": "Small\n"}, "README.md: no heading"),
        ("sdist", {"setup": SETUP.replace("*.json", "*.yaml")}, "lacks testbed/table.json"),
        ("sdist", {"setup": "[metadata]\nname = small\nversion = what\n"}, "sdist failed: "),
        (
            "metadata",
            {"setup": SETUP.replace("text/markdown", "text/x-rst").replace("description = Small\n", "")},
            "gives no summary, description-content-type: text/markdown",
        ),
    ],
)
def test_what_is_missing_is_named(
    check: str,
    changes: dict[str, str],
    text: str,
    project: Project,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project(**changes)
    # A build takes seconds.
    needed = BUILT[: BUILT.index(check) + 1] if check in BUILT else [name for name in CHECKS if name not in BUILT]
    monkeypatch.setattr(releasing, "_CHECKS", {name: CHECKS[name] for name in needed})
    assert main(["release", "--dry-run"]) == 1
    found = said(capsys)
    assert text in found[check]
    assert {name for name, line in found.items() if line.startswith("MISSING ")} == {check}


def test_what_needs_a_build_that_failed_is_missing_too(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project(setup="[metadata]\nname = small\nversion = what\n")
    assert main(["release", "--dry-run"]) == 1
    assert [name for name, line in said(capsys).items() if line.startswith("MISSING ")] == BUILT


def test_a_tag_and_what_is_not_committed_are_named(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    top = project()
    git(top, "tag", f"v{__version__}")
    (top / "README.md").write_text("# Other\n")
    (top / "testbed/later.py").write_text("")
    assert main(["release", "--dry-run"]) == 1
    found = said(capsys)
    assert found["version"].startswith(f"MISSING the tag v{__version__} is there already")
    assert found["tree"] == "MISSING not committed: README.md, testbed/later.py"
    assert "ok" in found["wheel"], "the committed files are built"


def test_a_folder_without_git_is_no_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(releasing, "_TOP", tmp_path)
    assert main(["release", "--dry-run"]) == 1
    assert "not a git repository" in said(capsys)["tree"]


def test_only_a_dry_run_exists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release"]) == 64
    assert "--dry-run" in capsys.readouterr().err

"""What the stage of CI makes of a machine's settings, and that it says why it cannot run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.bareroot import root
from tests.bareroot.registries import folders_named, passed_on
from tests.bareroot.root import StageError, kept_root, locked, mirror_of

_DEB822 = """Types: deb
# a comment
URIs: http://one.example/debian
Suites: bookworm bookworm-updates

Types: deb
URIs: http://one.example/debian-security
Suites: bookworm-security
"""


@pytest.mark.parametrize(
    ("sources", "mirror"),
    [
        ([_DEB822], "http://one.example/debian"),
        (["# none\n", "deb [signed-by=/k.gpg] http://two.example/d bookworm main\n"], "http://two.example/d"),
        (["deb http://three.example/d trixie main\n"], None),
        ([], None),
    ],
)
def test_the_mirror_is_that_of_this_machine(sources: list[str], mirror: str | None) -> None:
    assert mirror_of(sources) == mirror


def test_folders_that_settings_of_pip_name(tmp_path: Path) -> None:
    for name in ("wheels", "index/simple", "index/files", "other"):
        (tmp_path / name).mkdir(parents=True)
    settings = [
        (
            f"find-links = {tmp_path}/wheels\nextra-index-url = file://{tmp_path}/index/simple "
            f"https://x.example{tmp_path}/other"
        )
    ]
    settings += [f"{tmp_path}/wheels", f"{tmp_path}/absent", "/etc/ssl"]
    assert list(folders_named(settings)) == [tmp_path / "wheels", tmp_path / "index"]


def test_what_reaches_the_network_is_passed_on_and_nothing_else() -> None:
    environment = {"https_proxy": "p", "HTTP_PROXY": "p", "PIP_INDEX_URL": "i", "SSL_CERT_FILE": "c", "CI": "true"}
    assert passed_on(environment | {"PYTHONPATH": "x", "HOME": "/h", "PYTHONDONTWRITEBYTECODE": "1"}) == environment


def test_a_root_is_kept_until_its_recipe_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[str]] = []

    def debootstrap(command: list[str], environment: dict[str, str] | None = None) -> None:
        made.append(command)
        Path(command[-2]).mkdir()

    monkeypatch.setattr(root, "_run", debootstrap)
    monkeypatch.setattr(root.shutil, "which", lambda program: f"/usr/sbin/{program}")
    one = kept_root(tmp_path, "http://one.example")
    assert kept_root(tmp_path, "http://one.example") == one
    assert len(made) == 1
    other = kept_root(tmp_path, "http://two.example")
    assert [path.name for path in tmp_path.iterdir()] == [other.name]
    assert other != one
    assert len(made) == 2


def test_a_broken_debootstrap_leaves_no_root_and_shows_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "debootstrap"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nfor place; do [ "$place" = "${place#/}" ] || mkdir -p "$place"; done\necho "E: no network"\nexit '
        "1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    cache = tmp_path / "cache"
    cache.mkdir()
    for _ in range(2):
        with pytest.raises(StageError, match=r"(?s)`debootstrap .*` ended with exit status 1:.*\| E: no network"):
            kept_root(cache, "http://one.example")
    assert list(cache.glob("root-*")) == []


def test_two_stages_at_once_are_refused(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StageError, match="another run uses"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass

"""Nothing of an archive names this machine or its user."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.bundle.cleaned import clean_document, clean_text, has_path


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("tb run /home/ann/runs/a/scenario.yaml --seed 3", "tb run scenario.yaml --seed 3"),
        ("'/tmp/x y/z.yaml'", "'x y/z.yaml'"),
        ("see file:///srv/b.svg.", "see b.svg."),
        ("/srv/", "srv"),
        ("path=/var/lib/a.json,other", "path=a.json,other"),
        ("a,/home/ann/lossy.yaml,3", "a,lossy.yaml,3"),
        ('"/etc/passwd"', '"passwd"'),
    ],
)
def test_absolute_paths_keep_their_last_part(text: str, cleaned: str) -> None:
    assert has_path(text)
    assert clean_text(text) == cleaned
    assert not has_path(cleaned)


@pytest.mark.parametrize(
    "text",
    [
        "8 bit/s", "2 / 3", "and/or", "https://example.org/a/b", "runs/latest/scenario.yaml", "</svg>",
        '<path d="M 0 0"/>',
        "10.0.0.1/24", "#!/usr/bin/env python3",
    ],
)  # fmt: skip
def test_what_is_no_absolute_path_stays(text: str) -> None:
    assert not has_path(text)
    assert clean_text(text) == text


def test_blanks_in_the_own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "Ann Lee"
    (home / "my work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "my work")
    assert clean_text(f"tb run {home}/my work/a.yaml --card {home}/b c.json") == "tb run a.yaml --card b c.json"


def test_documents_are_cleaned_throughout() -> None:
    document = {
        "replay": "tb run /home/ann/x/scenario.yaml",
        "checks": [{"detail": "at /srv/a/b.py:3", "count": 3, "fits": None}],
        "/home/ann/k": 1.5,
        "environment": {"python": "3.11.2", "source": "0123", "kernel": "6.1-ann", "host_version": "h1: 3"},
    }
    found = clean_document(document)
    assert found == {
        "replay": "tb run scenario.yaml",
        "checks": [{"detail": "at b.py:3", "count": 3, "fits": None}],
        "k": 1.5,
        "environment": {"python": "3.11.2", "source": "0123"},
    }
    assert clean_document(document, machine=True)["environment"] == document["environment"]

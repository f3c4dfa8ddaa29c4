"""The site, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.site import build, copy_of_the_pages


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = copy_of_the_pages(tmp_path_factory.mktemp("site"))
    done = build(top)
    assert done.returncode == 0, done.stderr
    return top / "build" / "site"

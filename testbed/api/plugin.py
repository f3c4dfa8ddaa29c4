"""A pytest plug-in: `@pytest.mark.ina("rack-lossy")` makes a scenario a test. Installed with the package (entry point
pytest11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from testbed.api import Run

__all__ = ["ina_run"]

_MARKER = "ina"
_ARGUMENTS = ("set", "world", "seed", "pcap")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("ina_world", "world of marked tests that name none (default: simulated)", default="simulated")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "ina(scenario, *, set=None, world=None, seed=None, pcap=False): run this scenario of ina-testbed before the "
        "test. The test fails if the verdict is not the expected one; the fixture ina_run is the run",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test asks for the run whether its function does or not."""
    names = getattr(item, "fixturenames", None)
    if names is not None and item.get_closest_marker(_MARKER) is not None and "ina_run" not in names:
        names.append("ina_run")


@pytest.fixture
def ina_run(request: pytest.FixtureRequest, tmp_path: Any) -> Run:
    """The run of the test's `ina` marker, judged. Skips where this machine lacks what the run needs."""
    import testbed

    scenario, options = _asked(request)
    options["world"] = options.get("world") or request.config.getini("ina_world")
    try:
        made = testbed.run(scenario, out=tmp_path / "ina-run", **options)
    except testbed.HostCapabilityError as error:
        pytest.skip(str(error))
    except (testbed.ScenarioError, testbed.LabError) as error:
        pytest.fail(f"{scenario}: {error}", pytrace=False)
    if not made.as_expected:
        expected = made.document["expect"]
        pytest.fail(f"{scenario}: {made.verdict}, and {expected} was expected\n\n{made.summary()}", pytrace=False)
    return made


def _asked(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    marker = request.node.get_closest_marker(_MARKER)
    if marker is None:
        pytest.fail(f'{request.node.nodeid}: ina_run needs a marker, as @pytest.mark.ina("rack-lossy")', pytrace=False)
    unknown = sorted(set(marker.kwargs) - set(_ARGUMENTS))
    if len(marker.args) != 1 or unknown:
        found = f"unknown {', '.join(unknown)}" if unknown else f"{len(marker.args)} arguments"
        pytest.fail(
            f"{request.node.nodeid}: @pytest.mark.ina: {found}; allowed: a scenario, then {', '.join(_ARGUMENTS)} by "
            "name",
            pytrace=False,
        )
    return marker.args[0], dict(marker.kwargs)

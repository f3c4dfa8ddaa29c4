from __future__ import annotations

from testbed.checkers.rules import Sighting, Violations
from testbed.checkers.rules_switch import SwitchRules
from tests.testbed.checkers.test_rules_forget import data


def test_a_packet_that_came_only_trimmed_does_not_leave_whole() -> None:
    violations = Violations()
    rules = SwitchRules(violations, aggregates=lambda connection: True, is_stale=lambda connection, psn: False)
    rules.entered_trimmed(data(5, trimmed=True), Sighting({}))
    rules.left(data(5), 0, b"", Sighting({}))
    assert "it left whole, and came only trimmed" in violations.texts[0]
    assert violations.counts[7] == 2  # and more often than it came

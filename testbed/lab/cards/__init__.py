"""Aggregation cards on the testbed's side: traces for the golden harness, and how they get through a card's ports."""

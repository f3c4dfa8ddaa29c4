"""The worlds: each realises a plan and records the history. Filters of switches and the choice of fault backends are
common to them."""

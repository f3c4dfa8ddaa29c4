"""One module per section of a scenario file: its keys, their types and defaults, and the values that they become."""

"""Routes that a plan gives to switches, and what a switch that follows them knows of itself."""

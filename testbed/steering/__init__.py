"""An OpenFlow controller for commodity switches: installs their flow rules, reroutes, falls back ([steering](steering.md))."""

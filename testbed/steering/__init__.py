"""An OpenFlow controller for commodity switches: it installs their flow rules, reroutes and falls back."""

"""What must hold between sections of a scenario, and what its protocol and its faults ask of them."""

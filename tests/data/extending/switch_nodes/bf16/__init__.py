"""The switch program of SwitchML with gradients in bfloat16."""

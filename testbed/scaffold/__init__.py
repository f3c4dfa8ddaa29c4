"""New packages, made from the texts of `playbooks/`."""

"""Every interleaving of a small configuration, explored over the real Machines."""

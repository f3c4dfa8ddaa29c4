"""A parameter server in shares, one at each rank."""

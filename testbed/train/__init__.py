"""Training processes over a network of a scenario: what `tb train` and `tb up` do."""

"""What several protocols bind alike. A folder, since every module of `testbed/protocols/` is a collective."""

"""Which arithmetic a reducer has, found out from outside."""

"""Which arithmetic a reducer has, found out from outside, and held against fresh random vectors."""

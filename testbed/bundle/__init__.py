"""Archives of finished runs and sweeps, with a script that repeats and compares them"""

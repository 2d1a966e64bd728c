"""controllers — loops that see what is there, ask the pure core what comes next, and do it.

Each loop is one file. None of them decides: `decide` does, and `actuate` writes.
"""

"""actuate — a plan's effects on the world, in order, at most once each.

Rule 1: whatever is done here can be done again without harm, since anybody may be killed between.
Rule 2: nothing is decided here; what cannot be done comes back as an outcome.
"""

"""present — what a plan looks like to a person or a script, worked out without any terminal.

Rule 1: everything here is pure: plan and snapshot in, plain rows and objects out.
Rule 2: terminal and browser show the same rows; how they are drawn is theirs (`cli/render.py`).
"""

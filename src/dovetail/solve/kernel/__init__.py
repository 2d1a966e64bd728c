"""The compiled inner loops, in C, and how they are called.

Every loop has a plain form in Python that gives the same answers; without a compiler that is used.

Read first: `loops`, `structures`, `kernel.c`.
"""

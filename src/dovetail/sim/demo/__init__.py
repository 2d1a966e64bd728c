"""demo — a small company's cluster, whose day can be watched in minutes.

Rule 1: what happens is written down here (`story`), and depends on the seed alone.
Rule 2: it acts as users do, through the API; only failures of the cloud are ordered directly.
"""

"""leadership — decides which replica works, and keeps a replica running.

`election` holds the Lease, `supervisor` restarts loops that fail, `readiness` says whether the API
can be used, and frees memory near the limit.
"""

"""provisioning — decides when something has happened, and carries out the plan.

`loop` is the control loop: batch, snapshot, decide, carry out. `reporting` writes logs and events
about a decision.
"""

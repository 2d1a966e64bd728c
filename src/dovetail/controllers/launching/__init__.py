"""launching — turns a planned node into a NodeClaim, and a NodeClaim into an instance.

`claim_creation` writes the NodeClaim of a launch, exactly once. `instance_launch` asks the cloud
for the instance of a claim and keeps the answer until it is written down. When to launch, and what
a failed launch means, is decided in `decide/lifecycle/launch`.
"""

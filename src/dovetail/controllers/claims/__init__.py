"""claims — sees to NodeClaims: one pass after another, from launch to deletion.

`loop` is the control loop of claims, `garbage_collection` a second one that removes what lost its
other half. `routing` says which claims a change concerns, `context` asks the cloud and the pool
what `decide/lifecycle/claim` needs to know.
"""

"""admission — what the API server adds to an object, and which objects it refuses.

plugins         what admission plugins add: priorities, tolerations, taints of new nodes
defaults        defaults of built-in kinds; `pod_defaults` those of pods
validation      names, labels, and the rules of each kind; `naming` has those of names
schemas         pruning, defaults and validation by custom resource definitions
immutable       fields that may not change
"""

"""admission — what the API server adds to an object, and which objects it refuses.

plugins         what admission plugins add: priorities, tolerations, taints of new nodes
defaults        defaults of built-in kinds; `pod_defaults` those of pods
shape           defaults and pruning by the schema of a custom resource definition
validation      names, labels, and the rules of each kind (`naming`, `schema_rules`,
                `workload_rules`)
immutable       fields that may not change
"""

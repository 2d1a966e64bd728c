"""settings — what the operator set: flags, environment and files, read and checked once.

Rule 1: a flag wins over its environment name. A number, a truth value or a span that the
        environment misspells is passed over in silence, as Karpenter does; anything else that is
        wrong stops the program before it starts, with the name of the flag or variable.
Rule 2: nothing below reads the environment again; whoever needs a setting is handed it.
"""

"""model — the nouns of a decision, frozen. No behaviour beyond what each noun means.

Rule 1: nothing here knows how Kubernetes writes things down (that is `api`), nor how they are
        solved (that is `solve`).
Rule 2: a bare class name means the noun in this package; wire types wear their module (`api.Pod`).
"""

"""cloud — what Dovetail expects of a cloud: the provider protocol, its errors, catalogues as data.

Rule 1: nothing here knows a particular cloud; those are in `providers`.
Rule 2: a label that a type could have but has not is stated (DoesNotExist), never left out.
"""

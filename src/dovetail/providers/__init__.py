"""providers — the clouds Dovetail knows, each in a folder of its own.

Rule 1: a provider imports `cloud` and what lies below it; nothing imports a provider but `app`,
        `cli` and the tests.
Rule 2: the figures of a built-in catalogue are data in its folder; `docs/catalogue.md` says where
        they come from.
"""

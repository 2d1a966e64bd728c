"""validating — whether instances of a node class could be launched: checks, then dry runs."""

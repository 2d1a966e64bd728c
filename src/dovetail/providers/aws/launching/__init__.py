"""launching — from a NodeClaim to an instance: templates, fleets, and what EC2 answers."""

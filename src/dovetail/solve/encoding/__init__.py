"""Encoding: a puzzle of pods, nodes and pools becomes arrays of integers.

In: a `Puzzle`. Out: `Encoded`: groups of pods that are alike, offers that can be bought, nodes that
exist, and the terms between pods (affinity, anti-affinity, spread, ports), all by number. What
holds before anything is planned is decided here: pods that nothing can take, offers that another
one beats in everything, types that a launch must list for minValues.

Read first: `groups`, `offers`, `encode`.
"""

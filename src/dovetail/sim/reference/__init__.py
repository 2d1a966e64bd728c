"""reference — implements the policy of the reference, to compare with.

This is not how Dovetail decides, and nothing of `decide` depends on it. It is the published
behaviour of Karpenter, so that both can be run in the same simulator:

    menus          what a pod insists on, what is given up, and what a pool can buy, as bits
    tallies        how many pods of a kind are in which domain
    places         nodes that are there, and claims that are being filled
    standing       the cluster as first fit sees it, kept from one look to the next
    first_fit      one pod after another: nodes there are, then open claims, then a new one
    claims         a filled claim as a launch: the cheapest offering of all that would do
    candidates     which nodes may go, and the order in which that is tried
    consolidation  what would become of the pods if these nodes went; many nodes for none or one, by
                   prefixes; then one node for none or one
    policy         the loop: provisioning, and every ten seconds one method that finds something

It is kept correct, not fast. Left out: minValues, reservations, volumes and devices.
"""

"""fast — simulates a day of a cluster from decisions alone.

The same `decide` (or any other policy) as in a live controller, and what a cluster does around it,
as events in virtual time: no API, no tasks, no messages. Nothing happens between two events, so a
quiet hour costs nothing.

    cluster     nodes, pods, promises and budgets, and the snapshot that decisions see
    binding     kube-scheduler's stand-in over the same filters and scores as the faithful one
    crews       Deployments and StatefulSets, and CronJobs, whose pods run and succeed
    adoption    nodes and pods that are there already
    market      what can be bought now, and for how much
    machines    orders that become nodes, and instances that end; claimed: what such a node is like
    departures  disruptions: taints, replacements first; draining and evictions, by the live laws
    interruptions  instances that the cloud takes back
    windows     what happens when, when is decided, and when disruption is thought about
    figures     what is counted: money, evictions, waiting, utilisation
    run         the loop: events, decisions, what becomes of them

Left out, against the faithful form (`sim/world.py` with the controllers): volumes, preemption, the
time that the API takes. A test shows that both agree on what they share.
"""

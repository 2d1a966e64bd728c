"""Plans for a handful of pods, by trying everything within a counted budget.

Greedy steps settle zones, nodes and sizes one after another; with few pods and many constraints the
first choice can leave somebody out. Here all of it is chosen together:

    board     the puzzle in plain integers: who may go where, and what each constraint counts
    search    depth first over pods in an order in which kube-scheduler could bind them
    choice    offers for the nodes of a layout, within limits and reservations
    placing   who is to be placed (most pods, by priority), and the layout as a plan

In: a plan with what it leaves out. Out: a plan that places more, or costs less; or the same one.
"""

"""history — what happened to an object over many decisions, and why.

happenings     what happened, when, in which decision; whether a node is being removed
pods           the life of a pod, as decisions saw it
nodes          the life of a node and its claim; what else its launch could have been
pools          what a NodePool launched and lost
lives          why a node was made and why it went, in sentences
past           the whole answer as of a moment, also for what is gone
"""

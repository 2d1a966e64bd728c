"""controllers — control loops that observe the cluster, ask `decide` and carry out the answer.

None of them decides. `controller` joins the loops and starts them, `feed` follows the API, `cache`
keeps the objects that it shows, `workqueue` runs a loop over keys. Each room below has its loops:

    provisioning   decides, and carries out plans
    launching      makes NodeClaims, and launches their instances
    claims         sees to NodeClaims from launch to deletion
    nodes          drains and removes Nodes
    pods           evicts pods, and nominates them to nodes
    pools          NodePools, their instance types and capacity buffers
    disruption     removes nodes that are not needed, and replaces those that are
    leadership     which replica works, and what keeps it running
"""

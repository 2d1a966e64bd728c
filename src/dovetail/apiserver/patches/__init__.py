"""patches — what a patch makes of an object, for each of the formats that Kubernetes accepts.

patching    finds the format and the subresource; holds JSON merge patches
strategic   strategic merge patches; `traits` knows which lists are merged by key
json_patch  JSON patches
applying    server-side apply; `ownership` reads and writes `managedFields`
"""

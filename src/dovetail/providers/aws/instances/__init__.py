"""instances — EC2 instances of this cluster: read, terminate, tag them, and find their drift."""

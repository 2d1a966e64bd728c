"""bootstrap — user data: what makes an instance join the cluster as a node."""

"""node_class — EC2NodeClass: its wire types, rules, hash and kubelet settings."""

"""images — which machine images an EC2NodeClass selects, and which one an instance type boots."""

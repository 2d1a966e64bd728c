"""status — what an EC2NodeClass selects and whether it can launch, in its status and conditions."""

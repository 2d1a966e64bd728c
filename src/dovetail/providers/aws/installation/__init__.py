"""installation — what an AWS account needs before the controller runs, from one table."""

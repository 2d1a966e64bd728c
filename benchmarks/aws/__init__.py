"""Measures the AWS provider, on the EC2 for tests where AWS is needed."""

"""aws — EC2: a catalogue of its types in us-west-2, as the AWS provider would describe them."""

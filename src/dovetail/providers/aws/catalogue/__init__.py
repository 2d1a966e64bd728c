"""catalogue — EC2 instance types: where they are offered, their labels, resources and prices."""

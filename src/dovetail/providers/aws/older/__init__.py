"""providers.aws.older — AWSNodeTemplate v1alpha1 and EC2NodeClass v1beta1, and how they become v1.

`door` is what the plugin brings.
"""

"""controller_manager — stand-ins for the controllers of kube-controller-manager, on any API.

workloads     watches all of them and runs one after the other
replicas      Deployments and ReplicaSets
stateful      StatefulSets
daemons       DaemonSets
jobs          Jobs
budgets       the status of PodDisruptionBudgets
pod_control   what they share: read a workload, find its pods, create and delete pods, roll out
"""

// How does a provisioning loop of the reference decide, and how long does each step take?
package main

import (
	"time"

	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// Solution is what was decided, and the seconds that it took.
type Solution struct {
	results scheduling.Results
	seconds Seconds
}

// Seconds of each step, and of all of them.
type Seconds struct {
	Topology  float64 `json:"topology"`
	Scheduler float64 `json:"scheduler"`
	Solve     float64 `json:"solve"`
	Truncate  float64 `json:"truncate"`
	All       float64 `json:"all"`
}

func solved(q *Question) (*Solution, error) {
	started := time.Now()
	topology, err := scheduling.NewTopology(
		q.ctx, q.client, q.cluster, q.nodes, q.nodePools, q.instanceTypes, q.pods, q.options...)
	if err != nil {
		return nil, err
	}
	counted := time.Now()
	scheduler := scheduling.NewScheduler(
		q.ctx, q.client, q.nodePools, q.cluster, q.nodes, topology, q.instanceTypes, q.daemonPods,
		q.recorder, q.clock, nil, nil, q.options...)
	ready := time.Now()
	results, err := scheduler.Solve(q.ctx, q.pods)
	if err != nil {
		return nil, err
	}
	placed := time.Now()
	results = results.TruncateInstanceTypes(q.ctx, scheduling.MaxInstanceTypes)
	ended := time.Now()
	return &Solution{results: results, seconds: Seconds{
		Topology:  counted.Sub(started).Seconds(),
		Scheduler: ready.Sub(counted).Seconds(),
		Solve:     placed.Sub(ready).Seconds(),
		Truncate:  ended.Sub(placed).Seconds(),
		All:       ended.Sub(started).Seconds(),
	}}, nil
}

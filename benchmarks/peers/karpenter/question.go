// What is the scheduler asked? Everything that it needs, built before the clock starts.
package main

import (
	"context"
	"flag"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	nodepoolutils "sigs.k8s.io/karpenter/pkg/utils/nodepool"
)

// Question is what the steps of a provisioning loop work on.
type Question struct {
	ctx           context.Context
	clock         clock.Clock
	client        *Reader
	recorder      events.Recorder
	cluster       *state.Cluster
	nodes         []*state.StateNode
	nodePools     []*v1.NodePool
	instanceTypes map[string][]*cloudprovider.InstanceType
	daemonPods    []*corev1.Pod
	pods          []*corev1.Pod
	options       []scheduling.Options
}

func asked(held *Scenario, workers int) (*Question, error) {
	settings, err := defaults()
	if err != nil {
		return nil, err
	}
	ctx := injection.WithControllerName(options.ToContext(context.Background(), settings), "provisioner")
	made := &Question{
		ctx:           ctx,
		clock:         clock.RealClock{},
		client:        newReader(held),
		recorder:      events.NewRecorder(&record.FakeRecorder{}), // without a channel it drops all
		nodePools:     held.NodePools,
		instanceTypes: catalogues(held),
		options: []scheduling.Options{
			scheduling.DisableReservedCapacityFallback,
			scheduling.NumConcurrentReconciles(workers),
			scheduling.MinValuesPolicy(settings.MinValuesPolicy),
		},
	}
	nodepoolutils.OrderByWeight(made.nodePools)
	for _, one := range held.DaemonSets {
		made.daemonPods = append(made.daemonPods, daemonset.PodForDaemonSet(one))
	}
	for _, pod := range held.Pods {
		if pod.Spec.NodeName == "" {
			made.pods = append(made.pods, pod)
		}
	}
	return made, made.populate(held)
}

// defaults are the reference's own settings, with reserved capacity off: no scenario has any.
func defaults() (*options.Options, error) {
	settings := &options.Options{}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet("defaults", flag.ContinueOnError)}
	settings.AddFlags(flags)
	return settings, settings.Parse(flags, "--feature-gates", "ReservedCapacity=false")
}

// populate tells the cluster state of claims, nodes and bound pods, in the order in which it hears
// of them when a controller starts.
func (q *Question) populate(held *Scenario) error {
	q.cluster = state.NewCluster(q.clock, q.client, nil)
	for _, claim := range held.NodeClaims {
		q.cluster.UpdateNodeClaim(claim)
	}
	for _, node := range held.Nodes {
		if err := q.cluster.UpdateNode(q.ctx, node); err != nil {
			return fmt.Errorf("node %s: %w", node.Name, err)
		}
	}
	for _, pod := range held.Pods {
		if err := q.cluster.UpdatePod(q.ctx, pod); err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	q.nodes = q.cluster.DeepCopyNodes().Active()
	return nil
}

// What is said of a solution? Nodes with their prices and pods, pods without a node, and figures.
package main

import (
	"runtime"
	"runtime/debug"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	requirementset "sigs.k8s.io/karpenter/pkg/scheduling"
)

const module = "sigs.k8s.io/karpenter"

// Answer is what the program prints.
type Answer struct {
	Seconds       Seconds        `json:"seconds"`
	NodeClaims    []NodeClaim    `json:"node_claims"`
	ExistingNodes []ExistingNode `json:"existing_nodes"`
	NotPlaced     []NotPlaced    `json:"not_placed"`
	PeakMB        float64        `json:"peak_mb"`
	PeakMBBefore  float64        `json:"peak_mb_before"`
	GOMAXPROCS    int            `json:"gomaxprocs"`
	Workers       int            `json:"workers"`
	Go            string         `json:"go"`
	Karpenter     string         `json:"karpenter"`
}

// NodeClaim is a node to launch: any of its instance types, of which the cheapest offering that is
// available and allowed is named, with its price in dollars an hour.
type NodeClaim struct {
	NodePool      string       `json:"node_pool"`
	InstanceTypes []string     `json:"instance_types"`
	Requirements  []Expression `json:"requirements"`
	InstanceType  string       `json:"instance_type"`
	Zone          string       `json:"zone"`
	CapacityType  string       `json:"capacity_type"`
	Price         float64      `json:"price"`
	Pods          []string     `json:"pods"`
}

// ExistingNode is a node that takes some of the pods that wait.
type ExistingNode struct {
	Name string   `json:"name"`
	Pods []string `json:"pods"`
}

// NotPlaced is a pod that gets no node, and why.
type NotPlaced struct {
	Pod   string `json:"pod"`
	Error string `json:"error"`
}

func told(solution *Solution) *Answer {
	made := &Answer{
		Seconds:       solution.seconds,
		NodeClaims:    []NodeClaim{},
		ExistingNodes: []ExistingNode{},
		NotPlaced:     []NotPlaced{},
		GOMAXPROCS:    runtime.GOMAXPROCS(0),
		Go:            runtime.Version(),
		Karpenter:     version(),
	}
	for _, claim := range solution.results.NewNodeClaims {
		made.NodeClaims = append(made.NodeClaims, launched(claim))
	}
	for _, node := range solution.results.ExistingNodes {
		if len(node.Pods) > 0 {
			made.ExistingNodes = append(made.ExistingNodes, ExistingNode{node.Name(), names(node.Pods)})
		}
	}
	for pod, err := range solution.results.PodErrors {
		made.NotPlaced = append(made.NotPlaced, NotPlaced{name(pod), err.Error()})
	}
	sort.Slice(made.NotPlaced, func(i, j int) bool { return made.NotPlaced[i].Pod < made.NotPlaced[j].Pod })
	return made
}

func launched(claim *scheduling.NodeClaim) NodeClaim {
	made := NodeClaim{NodePool: claim.NodePoolName, Pods: names(claim.Pods)}
	made.Requirements = claim.Requirements.NodeSelectorRequirements()
	sort.SliceStable(made.Requirements, func(i, j int) bool {
		return made.Requirements[i].Key < made.Requirements[j].Key
	})
	for _, kind := range claim.InstanceTypeOptions {
		made.InstanceTypes = append(made.InstanceTypes, kind.Name)
		for _, offering := range available(kind, claim.Requirements) {
			if made.InstanceType == "" || offering.Price < made.Price {
				made.InstanceType, made.Price = kind.Name, offering.Price
				made.Zone, made.CapacityType = offering.Zone(), offering.CapacityType()
			}
		}
	}
	return made
}

func available(kind *cloudprovider.InstanceType, wanted requirementset.Requirements) cloudprovider.Offerings {
	return kind.Offerings.Available().Compatible(wanted)
}

func names(pods []*corev1.Pod) []string {
	made := make([]string, 0, len(pods))
	for _, pod := range pods {
		made = append(made, name(pod))
	}
	return made
}

func name(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func version() string {
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, one := range built.Deps {
			if one.Path == module {
				return one.Version
			}
		}
	}
	return ""
}

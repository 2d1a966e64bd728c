// What can be bought? The scenario's instance types as the reference wants them from a provider.
package main

import (
	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// catalogues gives each pool its instance types. Pools with the same catalogue share its types.
func catalogues(held *Scenario) map[string][]*cloudprovider.InstanceType {
	v1.WellKnownLabels.Insert(held.WellKnownLabels...)
	made := make([][]*cloudprovider.InstanceType, len(held.Catalogues))
	for ordinal, types := range held.Catalogues {
		made[ordinal] = catalogue(types)
	}
	byPool := map[string][]*cloudprovider.InstanceType{}
	for pool, ordinal := range held.CatalogueByPool {
		// The reference sorts slices in place, so that each pool has its own.
		byPool[pool] = append([]*cloudprovider.InstanceType{}, made[ordinal]...)
	}
	return byPool
}

func catalogue(types []InstanceType) []*cloudprovider.InstanceType {
	made := make([]*cloudprovider.InstanceType, 0, len(types))
	for _, one := range types {
		kind := &cloudprovider.InstanceType{
			Name:         one.Name,
			Requirements: complete(requirements(one.Requirements)),
			Capacity:     one.Capacity,
			Overhead:     &cloudprovider.InstanceTypeOverhead{KubeReserved: one.Overhead},
		}
		for _, offered := range one.Offerings {
			kind.Offerings = append(kind.Offerings, &cloudprovider.Offering{
				Requirements: requirements(offered.Requirements),
				Price:        offered.Price,
				Available:    offered.Available,
			})
		}
		kind.Allocatable() // worked out once and kept; a running controller has it already
		made = append(made, kind)
	}
	return made
}

// complete says of every well-known label that a type does not have that it does not have it, as
// the reference asks of providers: what is not said would count as anything.
func complete(said scheduling.Requirements) scheduling.Requirements {
	for key := range v1.WellKnownLabels {
		if !said.Has(key) && key != v1.NodePoolLabelKey {
			said.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	return said
}

func requirements(said []Expression) scheduling.Requirements {
	return scheduling.NewNodeSelectorRequirementsWithMinValues(said...)
}

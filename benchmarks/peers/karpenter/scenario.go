// What is a scenario? Objects as the API would list them, and what can be bought by which pool.
package main

import (
	"encoding/json"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Scenario is everything that is known of a cluster. Pools name their catalogue by its ordinal,
// since most pools of a cluster choose from the same one.
type Scenario struct {
	WellKnownLabels []string            `json:"well_known_labels"`
	NodePools       []*v1.NodePool      `json:"node_pools"`
	Catalogues      [][]InstanceType    `json:"catalogues"`
	CatalogueByPool map[string]int      `json:"catalogue_by_pool"`
	DaemonSets      []*appsv1.DaemonSet `json:"daemon_sets"`
	Namespaces      []corev1.Namespace  `json:"namespaces"`
	Nodes           []*corev1.Node      `json:"nodes"`
	NodeClaims      []*v1.NodeClaim     `json:"node_claims"`
	Pods            []*corev1.Pod       `json:"pods"`
}

// InstanceType is a machine shape; what the system keeps of its capacity is the overhead.
type InstanceType struct {
	Name         string              `json:"name"`
	Requirements []Expression        `json:"requirements"`
	Capacity     corev1.ResourceList `json:"capacity"`
	Overhead     corev1.ResourceList `json:"overhead"`
	Offerings    []Offering          `json:"offerings"`
}

// Offering is one way to get a machine; the price is in dollars an hour.
type Offering struct {
	Requirements []Expression `json:"requirements"`
	Price        float64      `json:"price"`
	Available    bool         `json:"available"`
}

// Expression constrains the values of one label.
type Expression = v1.NodeSelectorRequirementWithMinValues

func read(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	held := &Scenario{}
	return held, json.Unmarshal(text, held)
}

// Where does the scheduler look up objects? In maps, as a controller does in the cache of its client.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader answers what the scheduler and the cluster state ask: pods by namespace or by node, nodes
// and namespaces. Unlike a real cache it copies nothing, since nobody changes what it hands out.
// Whatever else a client can do is not asked; it would end in a panic, and so be reported.
type Reader struct {
	client.Client
	podsByNamespace map[string][]*corev1.Pod
	podsByNode      map[string][]*corev1.Pod
	nodes           map[string]*corev1.Node
	namespaces      []corev1.Namespace
}

func newReader(held *Scenario) *Reader {
	made := &Reader{
		podsByNamespace: map[string][]*corev1.Pod{},
		podsByNode:      map[string][]*corev1.Pod{},
		nodes:           map[string]*corev1.Node{},
		namespaces:      held.Namespaces,
	}
	for _, pod := range held.Pods {
		made.podsByNamespace[pod.Namespace] = append(made.podsByNamespace[pod.Namespace], pod)
		if node := pod.Spec.NodeName; node != "" {
			made.podsByNode[node] = append(made.podsByNode[node], pod)
		}
	}
	for _, node := range held.Nodes {
		made.nodes[node.Name] = node
	}
	return made
}

// Get finds nodes. No scenario has CSINodes.
func (r *Reader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch wanted := into.(type) {
	case *corev1.Node:
		if node, ok := r.nodes[key.Name]; ok {
			*wanted = *node
			return nil
		}
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
	case *storagev1.CSINode:
		return apierrors.NewNotFound(schema.GroupResource{Group: storagev1.GroupName, Resource: "csinodes"}, key.Name)
	default:
		return fmt.Errorf("no scenario has a %T", into)
	}
}

// List finds pods and namespaces.
func (r *Reader) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	selector := asked.LabelSelector
	if selector == nil {
		selector = labels.Everything()
	}
	switch wanted := into.(type) {
	case *corev1.PodList:
		wanted.Items = nil
		for _, pod := range r.pods(asked) {
			if selector.Matches(labels.Set(pod.Labels)) {
				wanted.Items = append(wanted.Items, *pod)
			}
		}
	case *corev1.NamespaceList:
		wanted.Items = nil
		for _, namespace := range r.namespaces {
			if selector.Matches(labels.Set(namespace.Labels)) {
				wanted.Items = append(wanted.Items, namespace)
			}
		}
	default:
		return fmt.Errorf("no scenario has a %T", into)
	}
	return nil
}

func (r *Reader) pods(asked *client.ListOptions) []*corev1.Pod {
	if asked.FieldSelector != nil {
		if node, ok := asked.FieldSelector.RequiresExactMatch("spec.nodeName"); ok {
			return r.podsByNode[node]
		}
	}
	return r.podsByNamespace[asked.Namespace]
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// clusterClient asks a starting control plane how far it is. Its methods return nil once what they ask
// for is so, and are meant to be called until then.
type clusterClient struct {
	kubernetes kubernetes.Interface
}

// nodeName is the name of the simulated node.
const nodeName = "testbed"

func newClusterClient(server string, authority []byte, token string) (*clusterClient, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:            server,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority},
		UserAgent:       "testbed-supervisor",
		QPS:             -1,
		Timeout:         10 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &clusterClient{kubernetes: client}, nil
}

// serverReady asks for the API server's own readiness, and for the namespace that everything else needs.
func (c *clusterClient) serverReady() error {
	if _, err := c.kubernetes.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background()); err != nil {
		return err
	}
	_, err := c.kubernetes.CoreV1().Namespaces().Get(context.Background(), "default", meta.GetOptions{})
	return err
}

// createNode makes the node whose kubelet kwok plays.
func (c *clusterClient) createNode() error {
	room := core.ResourceList{
		core.ResourceCPU:              resource.MustParse("64"),
		core.ResourceMemory:           resource.MustParse("256Gi"),
		core.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		core.ResourcePods:             resource.MustParse("2000"),
	}
	_, err := c.kubernetes.CoreV1().Nodes().Create(context.Background(), &core.Node{
		ObjectMeta: meta.ObjectMeta{
			Name:        nodeName,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{
				"kubernetes.io/hostname": nodeName, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "type": "kwok",
			},
		},
		Status: core.NodeStatus{Allocatable: room, Capacity: room},
	}, meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// nodeReady asks whether pods would be scheduled to the node.
func (c *clusterClient) nodeReady() error {
	node, err := c.kubernetes.CoreV1().Nodes().Get(context.Background(), nodeName, meta.GetOptions{})
	if err != nil {
		return err
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("node %s has taints: %v", nodeName, node.Spec.Taints)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == core.NodeReady && condition.Status == core.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s has no condition Ready=True", nodeName)
}

// defaultServiceAccount asks for the first thing that the controller-manager makes.
func (c *clusterClient) defaultServiceAccount() error {
	_, err := c.kubernetes.CoreV1().ServiceAccounts("default").Get(context.Background(), "default", meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errors.New("service account default/default does not exist yet")
	}
	return err
}

package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/api"
)

// shortFor is how long EC2 has no capacity. In that time a request is planned for several times.
const shortFor = 20 * time.Second

// KueueResources are the kinds that have to be served before Kueue starts.
func KueueResources() []schema.GroupVersionResource {
	resources := []schema.GroupVersionResource{
		{Group: api.AutoscalingGroup, Version: "v1", Resource: api.ProvisioningRequestResource},
	}
	for _, plural := range []string{
		"admissionchecks", "clusterqueues", "localqueues", "provisioningrequestconfigs", "resourceflavors", "workloads",
	} {
		resources = append(resources,
			schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: plural})
	}
	return resources
}

// Capacity lets EC2 lack capacity. Both take patterns of a zone.
type Capacity interface {
	Starve(zone string)
	Feed(zone string)
}

// Kueue queues jobs whose pods are of use only together, with enough capacity, with one zone that
// has none, and with none at all for a while. It returns an error if a job comes to several zones,
// or if it gets pods or instances while EC2 has no room for all of it.
func Kueue(ctx context.Context, setup Setup, ec2 Capacity) error {
	role, err := setup.World.NodeRole()
	if err != nil {
		return err
	}
	if err := setup.Client.Apply(ctx, filepath.Join(setup.Root, "testdata", "manifests", "quickstart.yaml"),
		map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}); err != nil {
		return err
	}
	if _, err := waitForCatalog(ctx, setup.Cluster); err != nil {
		return err
	}
	small, err := setup.job(ctx, "small", "1", 3)
	if err != nil {
		return err
	}
	large, err := setup.job(ctx, "gang", "900m", 64)
	if err != nil {
		return err
	}
	setup.Timeline.Add("zones", "the jobs ran in %s and %s", small, large)
	ec2.Starve(large)
	moved, err := setup.job(ctx, "moved", "1900m", 64)
	if err != nil {
		return err
	}
	if moved == large {
		return fmt.Errorf("a job came to the zone %s, which has no capacity", moved)
	}
	setup.Timeline.Add("shortage", "with none in %s the gang ran in %s", large, moved)
	ec2.Starve("*")
	if err := setup.waits(ctx, "late"); err != nil {
		return err
	}
	ec2.Feed("*")
	ec2.Feed(large)
	zone, err := setup.together(ctx, "late", 64)
	setup.Timeline.Add("capacity", "the gang that waited runs in %s", zone)
	return err
}

// job queues a job and returns the zone that all its pods run in. The job goes then.
func (s Setup) job(ctx context.Context, name, cpu string, count int) (zone string, err error) {
	if err := s.queue(ctx, name, cpu, count); err != nil {
		return "", err
	}
	zone, err = s.together(ctx, name, count)
	if err != nil {
		return "", err
	}
	background := metav1.DeletePropagationBackground
	err = s.Client.Core.BatchV1().Jobs("default").Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		return "", err
	}
	return zone, Until(ctx, patience, "the pods of the job to be gone", s.Client.Running("default", "job-name="+name, 0))
}

func (s Setup) queue(ctx context.Context, name, cpu string, count int) error {
	s.Timeline.Add("job", "%s: %d pods of %s", name, count, cpu)
	return s.Client.Apply(ctx, filepath.Join(s.Root, "testdata", "kueue", "job.yaml"), map[string]string{
		"NAME": name, "CPU": cpu, "COUNT": fmt.Sprint(count),
	})
}

// together waits until all pods of the job run, and returns their zone.
func (s Setup) together(ctx context.Context, name string, count int) (string, error) {
	err := Until(ctx, 2*patience, "the pods of the job "+name+" to run",
		s.Client.Running("default", "job-name="+name, count))
	if err != nil {
		return "", errors.Join(err, s.explain(ctx))
	}
	pods, err := s.Client.Pods(ctx, "default", "job-name="+name)
	if err != nil {
		return "", err
	}
	nodes, err := s.Client.Nodes(ctx)
	if err != nil {
		return "", err
	}
	zoneOf, zones := map[string]string{}, map[string]int{}
	for i := range nodes {
		zoneOf[nodes[i].Name] = nodes[i].Labels[corev1.LabelTopologyZone]
	}
	zone := ""
	for i := range pods {
		zone = zoneOf[pods[i].Spec.NodeName]
		zones[zone]++
	}
	if len(zones) != 1 {
		return "", fmt.Errorf("the pods of the job %s run in %v, want one zone", name, zones)
	}
	return zone, nil
}

// waits queues a job that EC2 has no capacity for, and looks for a while that it gets nothing in
// part.
func (s Setup) waits(ctx context.Context, name string) error {
	if err := s.queue(ctx, name, "3", 64); err != nil {
		return err
	}
	if err := Until(ctx, patience, "the request to say what is missing", func(ctx context.Context) (bool, string, error) {
		requests, err := s.Cluster.ProvisioningRequests(ctx)
		for i := range requests {
			said := api.GetCondition(requests[i].Status.Conditions, api.ConditionProvisioned)
			if said != nil && said.Status == metav1.ConditionFalse {
				s.Timeline.Add("request", "%s: %.200s", requests[i].Name, said.Message)
				return true, "", nil
			}
		}
		return false, fmt.Sprintf("%d requests", len(requests)), err
	}); err != nil {
		return err
	}
	before := s.World.InstancesAlive()
	for end := time.Now().Add(shortFor); time.Now().Before(end); {
		pods, err := s.Client.Pods(ctx, "default", "job-name="+name)
		if err != nil {
			return err
		}
		if alive := s.World.InstancesAlive(); len(pods) > 0 || alive > before {
			return fmt.Errorf("the job %s has %d pods and %d more instances without its room", name, len(pods), alive-before)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// explain says how far the requests are.
func (s Setup) explain(ctx context.Context) error {
	requests, err := s.Cluster.ProvisioningRequests(ctx)
	for i := range requests {
		err = errors.Join(err, fmt.Errorf("the request %s: %+v", requests[i].Name, requests[i].Status.Conditions))
	}
	return err
}

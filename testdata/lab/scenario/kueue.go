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
		{Group: api.AutoscalingGroup, Version: "v1", Resource: api.ProvisioningRequestResource}, jobSets(),
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

// work is what a queue admits as a whole: a Job, or a JobSet.
type work struct {
	name, cpu string
	// count is the number of pods of a Job, and of each of a JobSet's two jobs of workers.
	count int
	set   bool
}

// manifest is the file below testdata/kueue.
func (w work) manifest() string {
	if w.set {
		return "jobset.yaml"
	}
	return "job.yaml"
}

// pods is the number of all pods: a JobSet has two jobs of workers and a leader.
func (w work) pods() int {
	if w.set {
		return 2*w.count + 1
	}
	return w.count
}

// selector is the label of its pods.
func (w work) selector() string {
	if w.set {
		return "jobset.sigs.k8s.io/jobset-name=" + w.name
	}
	return "job-name=" + w.name
}

func (w work) resource() schema.GroupVersionResource {
	if w.set {
		return jobSets()
	}
	return schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
}

func jobSets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
}

// Kueue queues Jobs and a JobSet whose pods are of use only together, with enough capacity, with
// one zone that has none, and with none at all for a while. It returns an error if one comes to
// several zones, or if it gets pods or instances while EC2 has no room for all of it.
func Kueue(ctx context.Context, setup Setup, ec2 Capacity) error {
	role, err := setup.World.NodeRole()
	if err != nil {
		return err
	}
	if err := setup.Client.Apply(ctx, filepath.Join(setup.Root, "testdata", "manifests", "fast.yaml"),
		map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}); err != nil {
		return err
	}
	if _, err := waitForCatalog(ctx, setup.Cluster); err != nil {
		return err
	}
	zones := map[string]string{}
	for _, each := range []work{
		{name: "small", cpu: "1", count: 3}, {name: "set", cpu: "1", count: 3, set: true},
		{name: "gang", cpu: "900m", count: 64},
	} {
		if zones[each.name], err = setup.runs(ctx, each); err != nil {
			return err
		}
	}
	setup.Timeline.Add("zones", "the jobs ran in %v", zones)
	if err := setup.oneZoneShort(ctx, ec2, zones["gang"]); err != nil {
		return err
	}
	return setup.allShort(ctx, ec2)
}

// oneZoneShort runs gangs while the zone, which the last one came to, has no capacity.
func (s Setup) oneZoneShort(ctx context.Context, ec2 Capacity, zone string) error {
	ec2.Starve(zone)
	defer ec2.Feed(zone)
	for _, each := range []work{
		{name: "moved", cpu: "1900m", count: 64}, {name: "moved-set", cpu: "1900m", count: 8, set: true},
	} {
		moved, err := s.runs(ctx, each)
		if err != nil {
			return err
		}
		if moved == zone {
			return fmt.Errorf("%s came to the zone %s, which has no capacity", each.name, moved)
		}
		s.Timeline.Add("shortage", "with none in %s, %s ran in %s", zone, each.name, moved)
	}
	return nil
}

// allShort queues a gang of each kind while EC2 has no capacity, and waits for them when it has
// again.
func (s Setup) allShort(ctx context.Context, ec2 Capacity) error {
	// The nodes of gangs that have ended are still there. None of these has room on them.
	late := []work{
		{name: "late-small", cpu: "12", count: 3}, {name: "late-set", cpu: "12", count: 2, set: true},
		{name: "late", cpu: "3", count: 64},
	}
	ec2.Starve("*")
	if err := s.wait(ctx, late); err != nil {
		return err
	}
	ec2.Feed("*")
	for _, each := range late {
		zone, err := s.together(ctx, each)
		if err != nil {
			return err
		}
		s.Timeline.Add("capacity", "%s, which waited, runs in %s", each.name, zone)
	}
	return nil
}

// runs queues a gang and returns the zone that all its pods run in. The gang goes then.
func (s Setup) runs(ctx context.Context, gang work) (zone string, err error) {
	if err := s.queue(ctx, gang); err != nil {
		return "", err
	}
	if zone, err = s.together(ctx, gang); err != nil {
		return "", err
	}
	background := metav1.DeletePropagationBackground
	err = s.Client.Objects.Resource(gang.resource()).Namespace("default").
		Delete(ctx, gang.name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		return "", err
	}
	return zone, Until(ctx, patience, "the pods of "+gang.name+" to be gone",
		s.Client.Running("default", gang.selector(), 0))
}

func (s Setup) queue(ctx context.Context, gang work) error {
	s.Timeline.Add("queue", "%s: %d pods", gang.name, gang.pods())
	return s.Client.Apply(ctx, filepath.Join(s.Root, "testdata", "kueue", gang.manifest()), map[string]string{
		"NAME": gang.name, "CPU": gang.cpu, "COUNT": fmt.Sprint(gang.count),
	})
}

// together waits until all pods of the gang run, and returns their zone.
func (s Setup) together(ctx context.Context, gang work) (string, error) {
	err := Until(ctx, 2*patience, "the pods of "+gang.name+" to run",
		s.Client.Running("default", gang.selector(), gang.pods()))
	if err != nil {
		return "", errors.Join(err, s.explain(ctx))
	}
	pods, err := s.Client.Pods(ctx, "default", gang.selector())
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
		return "", fmt.Errorf("the pods of %s run in %v, want one zone", gang.name, zones)
	}
	return zone, nil
}

// wait queues gangs that EC2 has no capacity for, and looks for a while that they get nothing in
// part.
func (s Setup) wait(ctx context.Context, gangs []work) error {
	for _, gang := range gangs {
		if err := s.queue(ctx, gang); err != nil {
			return err
		}
	}
	if err := s.sayWhatIsMissing(ctx, len(gangs)); err != nil {
		return err
	}
	before := s.World.InstancesAlive()
	for end := time.Now().Add(shortFor); time.Now().Before(end); {
		for _, gang := range gangs {
			pods, err := s.Client.Pods(ctx, "default", gang.selector())
			if err != nil {
				return err
			}
			if alive := s.World.InstancesAlive(); len(pods) > 0 || alive > before {
				return fmt.Errorf("%s has %d pods and %d more instances without its room", gang.name, len(pods), alive-before)
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// sayWhatIsMissing waits until so many requests say what they lack.
func (s Setup) sayWhatIsMissing(ctx context.Context, count int) error {
	return Until(ctx, patience, "the requests to say what is missing", func(ctx context.Context) (bool, string, error) {
		requests, err := s.Cluster.ProvisioningRequests(ctx)
		said := map[string]string{}
		for i := range requests {
			condition := api.GetCondition(requests[i].Status.Conditions, api.ConditionProvisioned)
			if condition != nil && condition.Status == metav1.ConditionFalse {
				said[requests[i].Name] = condition.Message
			}
		}
		if len(said) < count {
			return false, fmt.Sprintf("%d of %d requests say it", len(said), len(requests)), err
		}
		for name, message := range said {
			s.Timeline.Add("request", "%s: %.200s", name, message)
		}
		return true, "", err
	})
}

// explain says how far the requests are.
func (s Setup) explain(ctx context.Context) error {
	requests, err := s.Cluster.ProvisioningRequests(ctx)
	for i := range requests {
		err = errors.Join(err, fmt.Errorf("the request %s: %+v", requests[i].Name, requests[i].Status.Conditions))
	}
	return err
}

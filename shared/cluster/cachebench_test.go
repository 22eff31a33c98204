package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/scale"
)

// BenchmarkLists reads 500 nodes, 500 NodeClaims and 2,000 pods of a real API server: in full, and
// with a cache after none, one or five objects in a hundred have changed. It reports the processor
// time of the client, and what the API server sends.
func BenchmarkLists(b *testing.B) {
	const nodes, pods = 500, 2000
	config := controlPlane.RESTConfig()
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	var received atomic.Int64
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return counting{connection, &received}, err
	}
	plain, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod"}, config)
	if err != nil {
		b.Fatal(err)
	}
	warm := plain.WithCache(cluster.NewCache(enough, time.Now))
	kinds := []struct {
		name  string
		store dynamic.ResourceInterface
		count int
		make  func(int) runtime.Object
		list  func(*cluster.Client) (int, error)
	}{
		{"nodeclaims", objects.Resource(schema.GroupVersionResource{
			Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}), nodes, largeClaim,
			func(c *cluster.Client) (int, error) { found, err := c.NodeClaims(b.Context()); return len(found), err }},
		{"pods", objects.Resource(podResource).Namespace("default"), pods, largePod,
			func(c *cluster.Client) (int, error) { found, err := c.Pods(b.Context()); return len(found), err }},
		{"nodes", objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}), nodes, largeNode,
			func(c *cluster.Client) (int, error) { found, err := c.Nodes(b.Context()); return len(found), err }},
	}
	names := map[string][]string{}
	for _, kind := range kinds {
		names[kind.name] = fill(b, kind.store, kind.count, kind.make)
	}
	for _, kind := range kinds { // the nodes last, when controllers have marked them as lost
		for _, form := range []struct {
			name    string
			client  *cluster.Client
			changed int // of a hundred
		}{{"full", plain, 0}, {"warm", warm, 0}, {"warm, 1 % changed", warm, 1}, {"warm, 5 % changed", warm, 5}} {
			b.Run(kind.name+"/"+form.name, func(b *testing.B) {
				if _, err := kind.list(form.client); err != nil {
					b.Fatal(err)
				}
				var used time.Duration
				sent := int64(0)
				for n := range b.N {
					b.StopTimer()
					touch(b, kind.store, names[kind.name][:kind.count*form.changed/100], n)
					begin, before := processor(), received.Load()
					b.StartTimer()
					if count, err := kind.list(form.client); err != nil || count < kind.count*9/10 { // controllers remove some pods
						b.Fatal(count, err)
					}
					used, sent = used+processor()-begin, sent+received.Load()-before
				}
				b.ReportMetric(float64(sent)/float64(b.N)/1000, "KB/op")
				b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
			})
		}
	}
}

// counting is a connection that counts what it receives.
type counting struct {
	net.Conn
	received *atomic.Int64
}

func (c counting) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.received.Add(int64(n))
	return n, err
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// fill creates objects with their statuses, and returns their names.
func fill(b *testing.B, store dynamic.ResourceInterface, count int, object func(int) runtime.Object) []string {
	b.Helper()
	names := make([]string, count)
	parallel(b, count, func(n int) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object(n))
		if err != nil {
			return err
		}
		wanted := &unstructured.Unstructured{Object: content}
		names[n] = wanted.GetName()
		status, err := json.Marshal(map[string]any{"status": wanted.Object["status"]})
		if err != nil {
			return err
		}
		if _, err := store.Create(b.Context(), wanted, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err = store.Patch(b.Context(), names[n], types.MergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	})
	return names
}

// touch changes objects.
func touch(b *testing.B, store dynamic.ResourceInterface, names []string, n int) {
	b.Helper()
	parallel(b, len(names), func(at int) error {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, n)
		_, err := store.Patch(b.Context(), names[at], types.MergePatchType, patch, metav1.PatchOptions{})
		return ignoreNotFound(err)
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func parallel(b *testing.B, count int, do func(int) error) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for n := range count {
		group.Go(func() error { return do(n) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

func largePod(n int) runtime.Object {
	pod := scale.Pod(n, fmt.Sprintf("node-%d", n/8))
	pod.Namespace, pod.Spec.ServiceAccountName, pod.UID, pod.ResourceVersion = "default", "", "", ""
	pod.ManagedFields = nil
	return pod
}

func largeNode(n int) runtime.Object {
	node := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n), Labels: typicalLabels(n)},
	}
	node.Status.Images = scale.Images()
	node.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}
	node.Status.Allocatable = node.Status.Capacity
	for _, name := range []corev1.NodeConditionType{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: name, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			Reason: "KubeletReady", Message: "kubelet is posting ready status",
		})
	}
	return node
}

func largeClaim(n int) runtime.Object {
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("claim-%d", n), Labels: typicalLabels(n)}}
	claim.APIVersion, claim.Kind = "karpenter.sh/v1", "NodeClaim"
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	instanceTypes := api.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn,
	}
	for i := range 60 {
		instanceTypes.Values = append(instanceTypes.Values, fmt.Sprintf("c%dg.%dxlarge", i%4+5, i))
	}
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{instanceTypes}
	for i := range 7 {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: fmt.Sprintf("Condition%d", i), Status: metav1.ConditionTrue, Reason: "Launched", LastTransitionTime: metav1.Now(),
		})
	}
	return claim
}

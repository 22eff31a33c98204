package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	nodeName    = "ip-10-0-0-10.eu-central-1.compute.internal"
	nodeToken   = "k8s-aws-v1.node"
	personToken = "k8s-aws-v1.person"
	replicas    = 3
)

// TestControlPlane covers the life of a control plane. It starts, schedules, authenticates as EKS
// does, stops, starts again with its state, and ends when its parent does.
func TestControlPlane(t *testing.T) {
	webhook := newTokenWebhook(t, map[string]authenticationv1.UserInfo{
		nodeToken:   {Username: "system:node:" + nodeName, Groups: []string{"system:nodes", "system:bootstrappers"}},
		personToken: {Username: "arn:aws:sts::111122223333:assumed-role/Someone/session", Groups: []string{"viewers"}},
	})
	options := Options{Binary: builtBinary(t), Directory: t.TempDir(), TokenWebhookURL: webhook.URL}
	controlPlane := startForTest(t, options)

	t.Run("it is as a new cluster of EKS", func(t *testing.T) { checkNewCluster(t, controlPlane) })
	t.Run("pods without a node are unschedulable", func(t *testing.T) { checkUnschedulable(t, controlPlane) })
	t.Run("the webhook decides who a token is", func(t *testing.T) { checkTokens(t, controlPlane, webhook) })
	t.Run("a directory serves one control plane", func(t *testing.T) {
		second, err := Start(t.Context(), options)
		if err == nil {
			t.Fatal(errors.Join(errors.New("a second control plane started in the same directory"), second.Stop()))
		}
		if !strings.Contains(err.Error(), "another control plane runs in this directory") {
			t.Errorf("the error does not say why: %v", err)
		}
	})
	t.Run("a node registers and its pods are bound", func(t *testing.T) { checkNode(t, controlPlane) })
	t.Run("it stops", func(t *testing.T) {
		// An open watch, which lasts for minutes, must not hold it up.
		core := clientFor(t, controlPlane.RESTConfig(), corev1.SchemeGroupVersion)
		watch, err := core.Get().Resource("pods").Param("watch", "true").Stream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = watch.Close() }()
		started := time.Now()
		if err := controlPlane.Stop(); err != nil {
			t.Fatal(err)
		}
		t.Logf("stopped in %s", time.Since(started).Round(time.Millisecond))
		checkGone(t, controlPlane)
		if err := controlPlane.Stop(); err != nil {
			t.Errorf("stopping again: %v", err)
		}
	})
	t.Run("it starts again where it was, and ends with its parent", func(t *testing.T) {
		address, err := url.Parse(controlPlane.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if options.Port, err = net.LookupPort("tcp", address.Port()); err != nil {
			t.Fatal(err)
		}
		again := startForTest(t, options)
		if again.Endpoint != controlPlane.Endpoint ||
			string(again.CertificateAuthority) != string(controlPlane.CertificateAuthority) {
			t.Error("its endpoint or authority has changed")
		}
		var pods corev1.PodList
		// The clients from before the restart can still reach it.
		core := clientFor(t, controlPlane.RESTConfig(), corev1.SchemeGroupVersion)
		if err := core.Get().Namespace("default").Resource("pods").Do(t.Context()).Into(&pods); err != nil {
			t.Fatal(err)
		}
		if len(pods.Items) != replicas {
			t.Errorf("it has %d pods of %d", len(pods.Items), replicas)
		}

		// The kernel does this when the parent dies.
		if err := again.input.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-again.Done():
		case <-time.After(stopPatience):
			t.Fatal("it outlives its parent")
		}
		if err := again.Err(); err == nil || !strings.Contains(err.Error(), "unasked") {
			t.Errorf("its end should be told as unasked, not as %v", err)
		}
		checkGone(t, again)
	})
}

func TestFailedStartTellsWhy(t *testing.T) {
	directory := t.TempDir()
	// A file where etcd wants its directory.
	if err := os.WriteFile(filepath.Join(directory, "etcd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	controlPlane, err := Start(t.Context(), Options{Binary: builtBinary(t), Directory: directory})
	if err == nil {
		t.Fatal(errors.Join(errors.New("it started"), controlPlane.Stop()))
	}
	for _, part := range []string{directory, "ended before it was ready", "starting etcd", "not a directory"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in the error: %v", part, err)
		}
	}
}

func TestStartThatIsCutShortLeavesNothing(t *testing.T) {
	options := Options{Binary: builtBinary(t), Directory: t.TempDir()}
	// The process is up by then and not ready for long.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	controlPlane, err := Start(ctx, options)
	if err == nil {
		t.Fatal(errors.Join(errors.New("it started"), controlPlane.Stop()))
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error does not say that time was up: %v", err)
	}
	// The process holds the lock as long as it lives.
	held, err := tryLock(filepath.Join(options.Directory, "lock"))
	if err != nil {
		t.Fatalf("the process is still there: %v", err)
	}
	_ = held.Close()
}

// builtBinary builds the control plane once. Its progress goes to standard error directly, because
// the first build takes minutes and the test's own log appears only at its end.
func builtBinary(t *testing.T) string {
	t.Helper()
	binary, err := Build(t.Context(), filepath.Join("..", "..", ".."), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func startForTest(t *testing.T, options Options) *ControlPlane {
	t.Helper()
	started := time.Now()
	controlPlane, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = controlPlane.Stop() })
	t.Logf("ready in %s", time.Since(started).Round(time.Millisecond))
	return controlPlane
}

func checkNewCluster(t *testing.T, controlPlane *ControlPlane) {
	if !strings.HasPrefix(controlPlane.Version, "v1.") {
		t.Errorf("version %q does not look like one of Kubernetes", controlPlane.Version)
	}
	core := clientFor(t, controlPlane.RESTConfig(), corev1.SchemeGroupVersion)
	var service corev1.Service
	if err := core.Get().Namespace(
		"kube-system").Resource("services").Name("kube-dns").Do(t.Context()).Into(&service); err != nil {
		t.Fatal(err)
	}
	if service.Spec.ClusterIP != "10.100.0.10" {
		t.Errorf("the address of kube-dns is %s, not 10.100.0.10", service.Spec.ClusterIP)
	}
	scheduling := clientFor(t, controlPlane.RESTConfig(), schedulingv1.SchemeGroupVersion)
	for _, name := range []string{"system-node-critical", "system-cluster-critical"} {
		if err := scheduling.Get().Resource("priorityclasses").Name(name).Do(t.Context()).Error(); err != nil {
			t.Error(err)
		}
	}
}

func checkUnschedulable(t *testing.T, controlPlane *ControlPlane) {
	labels := map[string]string{"app": "web"}
	count := int32(replicas)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &count,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "registry.k8s.io/pause:3.10",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
					}},
				}}},
			},
		},
	}
	apps := clientFor(t, controlPlane.RESTConfig(), appsv1.SchemeGroupVersion)
	if err := apps.Post().Namespace(
		"default").Resource("deployments").Body(deployment).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	eventuallyPods(t, controlPlane, "all pods are unschedulable", func(pod corev1.Pod) bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse &&
				condition.Reason == corev1.PodReasonUnschedulable
		})
	})
}

// eventuallyPods waits until the deployment has all its pods and each satisfies check.
func eventuallyPods(t *testing.T, controlPlane *ControlPlane, what string, check func(corev1.Pod) bool) {
	t.Helper()
	core := clientFor(t, controlPlane.RESTConfig(), corev1.SchemeGroupVersion)
	eventually(t, what, func(ctx context.Context) string {
		var pods corev1.PodList
		if err := core.Get().Namespace("default").Resource("pods").Do(ctx).Into(&pods); err != nil {
			return err.Error()
		}
		satisfied := 0
		for _, pod := range pods.Items {
			if check(pod) {
				satisfied++
			}
		}
		if satisfied != replicas || len(pods.Items) != replicas {
			return fmt.Sprintf("%d of %d pods", satisfied, len(pods.Items))
		}
		return ""
	})
}

func checkTokens(t *testing.T, controlPlane *ControlPlane, webhook *tokenWebhook) {
	whoAmI := func(token string) (authenticationv1.UserInfo, error) {
		var review authenticationv1.SelfSubjectReview
		client := clientFor(t, tokenConfig(controlPlane, token), authenticationv1.SchemeGroupVersion)
		err := client.Post().Resource(
			"selfsubjectreviews").Body(&authenticationv1.SelfSubjectReview{}).Do(t.Context()).Into(&review)
		return review.Status.UserInfo, err
	}
	user, err := whoAmI(personToken)
	if err != nil {
		t.Fatal(err)
	}
	if want := webhook.users[personToken].Username; user.Username != want {
		t.Errorf("the user is %q, not %q", user.Username, want)
	}
	if want := []string{"viewers", "system:authenticated"}; !slices.Equal(user.Groups, want) {
		t.Errorf("the groups are %q, not %q", user.Groups, want)
	}
	if _, err := whoAmI(personToken); err != nil {
		t.Error(err)
	}
	if times := webhook.times(personToken); times != 1 {
		t.Errorf("the webhook was asked %d times about one token within its cache time", times)
	}
	const strange = "k8s-aws-v1.strange"
	if _, err := whoAmI(strange); !apierrors.IsUnauthorized(err) {
		t.Errorf("an unknown token should be refused as unauthorized, not answered with %v", err)
	}
	if webhook.times(strange) == 0 {
		t.Error("the webhook was never asked about the unknown token")
	}
	person := clientFor(t, tokenConfig(controlPlane, personToken), corev1.SchemeGroupVersion)
	if err := person.Get().Resource("nodes").Do(t.Context()).Error(); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights should be refused as forbidden, not answered with %v", err)
	}
}

func checkNode(t *testing.T, controlPlane *ControlPlane) {
	kubelet := clientFor(t, tokenConfig(controlPlane, nodeToken), corev1.SchemeGroupVersion)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods:   resource.MustParse("58"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{corev1.LabelHostname: nodeName}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-0123456789abcdef0"},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
		},
	}
	register := func(node *corev1.Node) error {
		return kubelet.Post().Resource("nodes").Body(node).Do(t.Context()).Error()
	}
	foreign := node.DeepCopy()
	foreign.Name = "another-node"
	if err := register(foreign); !apierrors.IsForbidden(err) {
		t.Errorf("registering under another's name should be forbidden, not answered with %v", err)
	}
	protected := node.DeepCopy()
	protected.Labels["node-restriction.kubernetes.io/team"] = "red"
	if err := register(protected); !apierrors.IsForbidden(err) {
		t.Errorf("registering with a restricted label should be forbidden, not answered with %v", err)
	}
	if err := register(node); err != nil {
		t.Fatal(err)
	}
	eventuallyPods(t, controlPlane, "all pods are bound", func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == nodeName
	})
	if err := kubelet.Get().Resource("nodes").Name(nodeName).Do(t.Context()).Error(); err != nil {
		t.Errorf("a kubelet should be able to read its own node: %v", err)
	}
	if err := kubelet.Get().Namespace(
		"kube-system").Resource("secrets").Do(t.Context()).Error(); !apierrors.IsForbidden(err) {
		t.Errorf("a kubelet that lists secrets should be forbidden, not answered with %v", err)
	}
}

// checkGone makes sure that neither the process nor its listener is left.
func checkGone(t *testing.T, controlPlane *ControlPlane) {
	t.Helper()
	if err := syscall.Kill(controlPlane.process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", controlPlane.process.Pid, err)
	}
	connection, err := net.DialTimeout("tcp", strings.TrimPrefix(controlPlane.Endpoint, "https://"), time.Second)
	if err == nil {
		_ = connection.Close()
		t.Errorf("%s still accepts connections", controlPlane.Endpoint)
	}
}

package sight_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/release"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// none is a market without types.
type none struct{}

func (none) Offer(o *snapshot.Objects) (*snapshot.Offer, error) {
	return &snapshot.Offer{Pools: o.NodePools}, nil
}

// trial are settings with everything turned on.
func trial() sight.Settings {
	return sight.Settings{CapacityBuffers: true, ProvisioningRequests: true, Market: none{}}
}

// waiting is a pod that the scheduler found no node for.
func waiting(name string, options ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
	for _, option := range options {
		option(&pod)
	}
	return pod
}

func on(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeName = node
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: new(true)}}
	}
}

func mounting(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
}

// node is an initialized node of a pool with its claim.
func node(name string) (corev1.Node, api.NodeClaim) {
	made := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		api.NodePoolLabelKey: "default", api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
	}}}
	made.Spec.ProviderID = api.ProviderID("us-east-1a", "i-"+name)
	made.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10"),
	}
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: made.Labels}}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	claim.Status.ProviderID = made.Spec.ProviderID
	return made, claim
}

// cluster of one node with the pods.
func given(pods ...corev1.Pod) *sight.Given {
	made, claim := node("first")
	g := &sight.Given{Known: snapshot.Objects{Pods: pods, Nodes: []corev1.Node{made}, NodeClaims: []api.NodeClaim{claim}}}
	g.Known.PersistentVolumeClaims = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "data",
	}}}
	return g
}

// broken fails to read some kinds, and knows misfits.
type broken struct {
	*sight.Given
	volumes, groups, buffers error
	misfits                  map[string]misfit.Misfit
}

func (b broken) PersistentVolumes(ctx context.Context) ([]corev1.PersistentVolume, error) {
	if b.volumes != nil {
		return nil, b.volumes
	}
	return b.Given.PersistentVolumes(ctx)
}

func (b broken) PodGroups(ctx context.Context) ([]api.PodGroup, error) {
	if b.groups != nil {
		return nil, b.groups
	}
	return b.Given.PodGroups(ctx)
}

func (b broken) CapacityBuffers(ctx context.Context) ([]api.CapacityBuffer, error) {
	if b.buffers != nil {
		return nil, b.buffers
	}
	return b.Given.CapacityBuffers(ctx)
}

func (b broken) Misfits(context.Context) (map[string]misfit.Misfit, error) { return b.misfits, nil }

func names(pods []corev1.Pod) string {
	var all []string
	for i := range pods {
		all = append(all, pods[i].Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestAMisfitIsHeldUntilItsTime has a pod that did not fit the node launched for it.
func TestAMisfitIsHeldUntilItsTime(t *testing.T) {
	until := now.Add(time.Minute)
	from := broken{Given: given(waiting("web"), waiting("other")), misfits: map[string]misfit.Misfit{
		"web": {Claims: []string{"small"}, Until: until, Because: "it requests 1 of cpu, and the node has 0"},
	}}
	for at, want := range map[time.Time]string{now: "other", until: "other web"} {
		view, err := sight.Read(t.Context(), from, trial(), at)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(view.Snapshot.Pods); got != want {
			t.Errorf("at %s a plan is for %q, want %q", at, got, want)
		}
		if at.Equal(until) {
			continue
		}
		held := view.Held[0]
		if held.Pod.Name != "web" || held.Reason != sight.HeldMisfit || !held.Until.Equal(until) ||
			!strings.Contains(held.Message, `nodeclaim "small"`) || view.MisfitsChanged {
			t.Errorf("held is %+v", held)
		}
	}
}

// TestWhatCannotBeReadHoldsThePodsThatNeedIt reads the rest of the cluster all the same.
func TestWhatCannotBeReadHoldsThePodsThatNeedIt(t *testing.T) {
	refused := errors.New("try again")
	gang := func(pod *corev1.Pod) { pod.Labels = map[string]string{api.PodGroupLabelKey: "training"} }
	from := broken{
		Given:   given(waiting("plain"), waiting("stateful", mounting), waiting("member", gang)),
		volumes: refused, groups: refused, buffers: refused,
	}
	view, err := sight.Read(t.Context(), from, trial(), now)
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(view.Incomplete, refused) {
		t.Errorf("the view's error is %v", view.Incomplete)
	}
	if got := names(view.Snapshot.Pods); got != "plain" || len(view.Held) != 2 ||
		view.Held[0].Reason != sight.HeldUnread || view.Held[1].Reason != sight.HeldGang {
		t.Errorf("a plan is for %q, held are %+v", got, view.Held)
	}
	made := planning.Solve(view.Snapshot)
	if len(made.Nominations) != 1 || made.Nominations[0].Pod.Name != "plain" || made.Fault() != "" {
		t.Errorf("the plan is %+v", made)
	}
}

// TestPodsOfARequestAreHeld has a request whose room is booked, and a pod that consumes it.
func TestPodsOfARequestAreHeld(t *testing.T) {
	from := given(waiting("web"), waiting("job", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"autoscaling.x-k8s.io/consume-provisioning-request": "training"}
	}))
	request := api.ProvisioningRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "training", UID: "r"}}
	request.Spec.ProvisioningClassName = api.AtomicScaleUpClass
	request.Spec.PodSets = make([]api.RequestedPodSet, 1)
	request.Spec.PodSets[0].PodTemplateRef.Name, request.Spec.PodSets[0].Count = "job", 1
	from.Requests = []api.ProvisioningRequest{request}
	from.Template = func(string, string, string) *cluster.Template {
		return &cluster.Template{Pod: corev1.PodTemplateSpec{Spec: waiting("").Spec}}
	}
	view, err := sight.Read(t.Context(), from, trial(), now)
	if err != nil || view.Incomplete != nil {
		t.Fatal(err, view.Incomplete)
	}
	if len(view.Held) != 1 || view.Held[0].Pod.Name != "job" || view.Held[0].Reason != sight.HeldRequest ||
		!strings.Contains(view.Held[0].Message, `ProvisioningRequest "default/training"`) {
		t.Errorf("held are %+v", view.Held)
	}
	if len(view.Requests) != 1 || len(view.Snapshot.Gangs) != 1 {
		t.Errorf("%d requests, gangs %+v", len(view.Requests), view.Snapshot.Gangs)
	}
}

// TestDetailsAreReadForEveryPodThatMayMove has no pod that waits, and one that runs with a volume.
func TestDetailsAreReadForEveryPodThatMayMove(t *testing.T) {
	for name, test := range map[string]struct {
		pods   []corev1.Pod
		unread plan.Details
	}{
		"of pods without volumes": {[]corev1.Pod{waiting("web", on("first"))}, plan.Details{}.Not()},
		"of a pod with a volume":  {[]corev1.Pod{waiting("web", on("first"), mounting)}, plan.Details{Namespaces: true}},
		"of a pod on a node of others": {
			[]corev1.Pod{waiting("web", on("theirs"), mounting)}, plan.Details{}.Not(),
		},
		"of a pod that selects namespaces": {
			[]corev1.Pod{waiting("web", on("first"), func(pod *corev1.Pod) {
				pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: corev1.LabelHostname, NamespaceSelector: &metav1.LabelSelector{},
					}},
				}}
			})}, plan.Details{Volumes: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			from := given(test.pods...)
			theirs, _ := node("theirs")
			from.Known.Nodes = append(from.Known.Nodes, theirs)
			fleet, err := sight.ReadFleet(t.Context(), from, trial(), now)
			if err != nil {
				t.Fatal(err)
			}
			made, err := fleet.Without(t.Context(), nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if made.Unread != test.unread || (len(made.PersistentVolumeClaims) == 0) != made.Unread.Volumes {
				t.Errorf("unread are %+v, with %d claims", made.Unread, len(made.PersistentVolumeClaims))
			}
		})
	}
}

// TestConsolidationBuysNoNodeOfAReleaseThatHalted keeps the pool for all other plans.
func TestConsolidationBuysNoNodeOfAReleaseThatHalted(t *testing.T) {
	const name = "default"
	from := given(waiting("web", on("first")))
	from.Known.NodePools = []api.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	fleet, err := sight.ReadFleet(t.Context(), from, trial(), now)
	if err != nil {
		t.Fatal(err)
	}
	for stage, want := range map[release.Stage]bool{release.First: true, release.Halted: false, release.Aborted: false} {
		fleet.Seen.Releases = map[string]*release.State{name: {Stage: stage, Order: &release.Order{Verb: release.Abort}}}
		input, err := fleet.Consolidation(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		has := func(pool api.NodePool) bool { return pool.Name == name }
		paused := len(input.Cluster.UnusablePools) + len(input.Cluster.PausedPools)
		if slices.ContainsFunc(input.Cluster.NodePools, has) != want || (paused == 0) != want {
			t.Errorf("%s: pools %d, unusable %+v", stage, len(input.Cluster.NodePools), input.Cluster.UnusablePools)
		}
		other, err := fleet.Without(t.Context(), nil, now)
		if err != nil || !slices.ContainsFunc(other.NodePools, has) {
			t.Errorf("%s: another plan lacks the pool, %v", stage, err)
		}
	}
}

// TestEveryDetailIsReadForExplanations has no pod that needs details. A pod that the scheduler has not reported
// may still wait for its volume.
func TestEveryDetailIsReadForExplanations(t *testing.T) {
	for _, all := range []bool{false, true} {
		settings := trial()
		settings.AllDetails = all
		view, err := sight.Read(t.Context(), given(waiting("web")), settings, now)
		if err != nil {
			t.Fatal(err)
		}
		read := view.Snapshot.Unread == (plan.Details{})
		if claims := len(view.Snapshot.PersistentVolumeClaims); read != all || all != (claims > 0) {
			t.Errorf("asked for all: %v. Unread are %+v, with %d claims", all, view.Snapshot.Unread, claims)
		}
	}
}

package provision

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// podGroup defines the kind PodGroup with the fields that Whittle reads, and creates one. It stands for the
// definition that scheduler-plugins installs.
func (e *environment) podGroup(name string, least int) {
	e.t.Helper()
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        "podgroups.scheduling.x-k8s.io",
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, of a test"},
		},
		"spec": map[string]any{
			"group": "scheduling.x-k8s.io", "scope": "Namespaced",
			"names": map[string]any{"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"},
			"versions": []any{map[string]any{
				"name": "v1alpha1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}
	e.try(e.client.Apply(e.t.Context(), &unstructured.Unstructured{Object: definition}))
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.PodGroupAPIVersion, "kind": api.PodGroupKind,
		"metadata": map[string]any{"namespace": "default", "name": name}, "spec": map[string]any{"minMember": int64(least)},
	}}
	e.until("the kind PodGroup", func() bool { return e.client.Apply(e.t.Context(), group) == nil })
	e.until("the PodGroup in the watch cache", func() bool {
		groups, err := e.client.PodGroups(e.t.Context())
		return err == nil && len(groups) > 0
	})
}

// member makes a pod one of the gang, in a zone.
func member(gang, zone string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{api.PodGroupLabelKey: gang}
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone}
	}
}

// TestNoNodeIsLaunchedForAPartOfAGang lets EC2 lack one of two zones in which a gang must run. Another pod
// gets its node meanwhile, and the gang as soon as EC2 has room.
func TestNoNodeIsLaunchedForAPartOfAGang(t *testing.T) {
	e := newEnvironment(t)
	e.podGroup("training", 2)
	e.pod("first", "3", member("training", "us-east-1a"))
	e.pass()
	if claims := e.standing(); len(claims) > 0 {
		t.Fatalf("one of two pods gets %d claims", len(claims))
	}
	if said := strings.Join(e.events("first", "FailedScheduling"), "\n"); !strings.Contains(said, "2 pods at a time, and 1 wait or run") {
		t.Errorf("it says %q", said)
	}
	e.pod("second", "3", member("training", "us-east-1b"))
	e.ec2.Starve(ec2.Starvation{Zone: "us-east-1b"})
	e.pod("alone", "3", selecting(corev1.LabelTopologyZone, "us-east-1c")) // on a node of its own
	e.pass()
	e.untilCached()
	for _, claim := range e.standing() {
		if strings.Contains(claim.Annotations[api.NominatedPodsAnnotationKey], e.uid("first")) {
			t.Errorf("the claim %s stands for a part of the gang", claim.Name)
		}
	}
	if len(e.standing()) != 1 {
		t.Errorf("%d claims, want the one of the pod that is alone", len(e.standing()))
	}
}

// inOneZone makes a pod one of a gang that needs all of its nodes in one zone. Its node is of the
// type.
func inOneZone(gang, instanceType string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{api.PodGroupLabelKey: gang}
		pod.Annotations = map[string]string{api.RequiredTopologyAnnotationKey: corev1.LabelTopologyZone}
		pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: instanceType}
	}
}

// TestAGangComesToAZoneThatHasRoomForAll lets EC2 sell one of two types of a gang in the cheapest
// zone. The gang comes to another zone as a whole, and its node in the first one goes back.
func TestAGangComesToAZoneThatHasRoomForAll(t *testing.T) {
	e := newEnvironment(t)
	e.podGroup("training", 2)
	e.pod("leader", "1", inOneZone("training", "m5.large"))
	e.pod("worker", "3", inOneZone("training", "m5.xlarge"))
	e.ec2.Starve(ec2.Starvation{InstanceType: "m5.xlarge", Zone: "us-east-1a"})
	e.pass()
	e.untilCached()
	e.pass()
	zones := map[string]int{}
	for _, claim := range e.standing() {
		zones[claim.Labels[corev1.LabelTopologyZone]]++
	}
	if want := map[string]int{"us-east-1b": 2}; !maps.Equal(zones, want) {
		t.Errorf("the claims are in %v, want %v", zones, want)
	}
}

// TestAPartOfAGangIsNeverLaunchedInOneZone lets EC2 have one spot instance for the two equal nodes of a gang.
// One call asks for both or none, so that none has to go back.
func TestAPartOfAGangIsNeverLaunchedInOneZone(t *testing.T) {
	e := newEnvironment(t)
	e.podGroup("training", 2)
	e.pod("first", "3", inOneZone("training", "m5.xlarge"))
	e.pod("second", "3", inOneZone("training", "m5.xlarge"))
	e.ec2.SetLimits(ec2.Limits{SpotInstances: 1, OnDemandVCPUs: -1})
	e.pass()
	e.untilCached()
	e.pass()
	for _, claim := range e.standing() {
		if claim.Annotations[api.GangAnnotationKey] != "default/training" {
			t.Errorf("the claim %s has the gang %q", claim.Name, claim.Annotations[api.GangAnnotationKey])
		}
	}
	bought := map[string]int{}
	for _, instance := range e.ec2.Instances() {
		bought[instance.CapacityType]++
	}
	if want := map[string]int{ec2.OnDemand: 2}; !maps.Equal(bought, want) {
		t.Errorf("EC2 has launched %v, want %v", bought, want)
	}
}

// TestOtherPodsDoNotWaitForPodGroups lets the API server refuse to list PodGroups.
func TestOtherPodsDoNotWaitForPodGroups(t *testing.T) {
	e := newEnvironment(t)
	e.podGroup("training", 2)
	e.pod("first", "3", member("training", "us-east-1a"))
	e.pod("second", "3", member("training", "us-east-1a"))
	e.pod("alone", "3", selecting(corev1.LabelTopologyZone, "us-east-1c"))
	h := e.handler(alive())
	h.connection = fixed{e.connectThrough(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Path == api.PodGroupsPath {
				return nil, errors.New("no way to the PodGroups")
			}
			return next.RoundTrip(request)
		})
	})}
	if _, err := h.handle(t.Context(), tick("1")); err == nil {
		t.Error("the tick is not tried again")
	}
	claims := e.standing()
	if len(claims) != 1 || claims[0].Annotations[api.NominatedPodsAnnotationKey] != e.uid("alone") {
		t.Errorf("claims %+v, want the one of the pod that is alone", claims)
	}
	e.pass()
	if len(e.instances()) < 2 {
		t.Error("the gang still waits once its group is read")
	}
}

// uid is that of a pod.
func (e *environment) uid(name string) string {
	e.t.Helper()
	pods, err := e.client.UnboundPods(e.t.Context())
	e.try(err)
	for i := range pods {
		if pods[i].Name == name {
			return string(pods[i].UID)
		}
	}
	e.t.Fatalf("there is no pod %q", name)
	return ""
}

// TestAGangWithoutRoomIsNotBoughtInPartsAgainAndAgain has a gang of 24 cores, and a quota for 20.
// EC2 is asked for equal nodes in one zone for ten minutes, all or none. Later, or where nodes
// differ, a part is launched and given back, and the gang waits.
func TestAGangWithoutRoomIsNotBoughtInPartsAgainAndAgain(t *testing.T) {
	for _, instanceType := range []string{"", "m5.xlarge"} {
		t.Run("on nodes of one type "+instanceType, func(t *testing.T) {
			if purchases := buyInVain(t, instanceType, 6, nil); purchases > 2 {
				t.Errorf("in half an hour parts of a gang that has no room were bought %d times", purchases)
			}
		})
	}
}

// TestADeathBetweenReturnAndMemoryBuysOncePerDeath kills the pass that gives a gang's part back, after each
// number of its writes. The part may be bought once more, because the memory is written last.
func TestADeathBetweenReturnAndMemoryBuysOncePerDeath(t *testing.T) {
	for writes, died := 0, true; died; writes++ {
		if writes > 40 {
			t.Fatal("a pass with more than 40 writes")
		}
		t.Run(fmt.Sprint("after write ", writes), func(t *testing.T) {
			cut := functiontest.After(writes)
			if purchases := buyInVain(t, "", 3, cut); purchases > 2 {
				t.Errorf("in ten minutes parts of a gang that has no room were bought %d times", purchases)
			}
			died = cut.Over()
		})
	}
}

// buyInVain returns how often parts of a gang without room were bought in so many rounds of five minutes. The
// cut, if there is one, kills the second pass.
func buyInVain(t *testing.T, instanceType string, rounds int, cut *functiontest.Cut) int {
	t.Helper()
	e := newEnvironment(t)
	e.podGroup("quota", 8)
	for i := range 8 {
		e.pod(fmt.Sprint("rank-", i), "3", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{api.PodGroupLabelKey: "quota"}
			pod.Spec.NodeSelector = map[string]string{api.CapacityTypeLabelKey: api.CapacityTypeOnDemand}
			if instanceType != "" {
				pod.Spec.NodeSelector[corev1.LabelInstanceTypeStable] = instanceType
			}
		})
	}
	e.ec2.SetLimits(ec2.Limits{OnDemandVCPUs: 20, SpotInstances: -1})
	ahead, purchases := time.Duration(0), 0
	for round := range rounds {
		before := len(e.ec2.Instances())
		h := e.handler(alive())
		h.now = func() time.Time { return time.Now().Add(ahead) }
		body := fmt.Sprintf(`{"cluster":%q,"at":%q,"reason":"tick","hop":0}`, clusterName, h.now().Format(time.RFC3339Nano))
		for pass := range 2 { // the second pass returns what the first has launched
			dies := round == 0 && pass == 1 && cut != nil
			if dies {
				h.connection = fixed{e.connectThrough(cut.Wrap)}
			}
			_, err := h.handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: body}}})
			if err != nil && !dies {
				t.Fatal(err)
			}
			e.untilCached()
		}
		if e.endReturned(); len(e.ec2.Instances()) > before {
			purchases++
			if instanceType != "" && ahead < 10*time.Minute {
				t.Errorf("after %s a part was bought, where one zone may still have room for all", ahead)
			}
		}
		ahead += 5 * time.Minute
	}
	return purchases
}

// endReturned acts as lifecycle: it ends the instances of deleted claims, and releases the claims.
func (e *environment) endReturned() {
	e.t.Helper()
	claims, err := e.client.Consistent().NodeClaims(e.t.Context())
	e.try(err)
	for i := range claims {
		if claims[i].DeletionTimestamp == nil {
			continue
		}
		if id, has := api.InstanceID(claims[i].Status.ProviderID); has {
			e.try(e.ec2.Terminate(id))
		}
		_, err := e.client.PatchNodeClaim(e.t.Context(), claims[i].Name, map[string]any{"metadata": map[string]any{"finalizers": nil}})
		if err != nil && !cluster.IsGone(err) {
			e.t.Fatal(err)
		}
	}
	e.untilCached()
}

// TestAGangComesFromTheNextZone lets EC2 sell nothing in the first zone. The equal nodes of a gang without a
// required topology come from one other zone.
func TestAGangComesFromTheNextZone(t *testing.T) {
	e := newEnvironment(t)
	e.podGroup("training", 2)
	for _, name := range []string{"first", "second"} {
		e.pod(name, "3", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{api.PodGroupLabelKey: "training"}
			pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "m5.xlarge"}
		})
	}
	e.ec2.Starve(ec2.Starvation{Zone: "us-east-1a"})
	e.pass()
	e.untilCached()
	e.pass()
	zones := map[string]int{}
	for _, claim := range e.standing() {
		zones[claim.Labels[corev1.LabelTopologyZone]]++
	}
	if len(zones) != 1 || zones["us-east-1a"] > 0 {
		t.Errorf("the claims are in %v, want two in one zone that has room", zones)
	}
}

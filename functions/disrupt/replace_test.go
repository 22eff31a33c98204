package disrupt

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
)

const classesPath = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"

// offers creates the class "default" and a catalogue until the test is over.
func offers(t *testing.T) {
	t.Helper()
	class := &api.EC2NodeClass{TypeMeta: metav1.TypeMeta{APIVersion: api.AWSGroup + "/v1", Kind: api.EC2NodeClassKind},
		ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Spec.Role = "nodes"
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latest"}}
	class.Spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	class.Spec.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	class.Default()
	functiontest.Create(t, server, classesPath, class)
	server.Patch(t, classesPath+"/default/status", map[string]any{"status": map[string]any{
		"subnets": []api.Subnet{{ID: "subnet-a", Zone: "us-east-1a", ZoneID: "use1-az1"},
			{ID: "subnet-b", Zone: "us-east-1b", ZoneID: "use1-az2"}},
		"amis": []map[string]any{{"id": "ami-1", "requirements": []map[string]any{{"key": corev1.LabelArchStable,
			"operator": "In", "values": []string{"amd64"}}}}},
		"conditions": []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready",
			LastTransitionTime: metav1.Now()}},
	}})
	t.Cleanup(func() { server.Delete(t, classesPath+"/default") })
	known := &catalog.Catalog{
		Time: time.Now(), Region: "us-east-1", SpotPriceTime: time.Now(),
		Zones: []catalog.AvailabilityZone{{ZoneName: "us-east-1a", ZoneID: "use1-az1"},
			{ZoneName: "us-east-1b", ZoneID: "use1-az2"}},
	}
	known.InstanceTypes = []catalog.InstanceTypeInfo{{
		InstanceType: "m5.large", DefaultVCpus: 2, SizeInMiB: 8192, SupportedArchitectures: []string{"x86_64"},
		SupportedUsageClasses: []string{"on-demand", "spot"},
		Hypervisor:            "nitro", Manufacturer: "Intel", Network: catalog.NetworkInfo{MaximumNetworkInterfaces: 3,
			Ipv4AddressesPerInterface: 10, MaximumNetworkCards: 1},
		Zones: []string{"us-east-1a", "us-east-1b"}, OnDemandPrice: 0.096,
		SpotPrices: map[string]float64{"us-east-1a": 0.03, "us-east-1b": 0.04},
	}}
	if err := inventory.PutCatalog(t.Context(), server.Everything(t), known); err != nil {
		t.Fatal(err)
	}
}

// recommend writes EC2's recommendation on a node that has been there for an hour and
// runs a pod.
func recommend(t *testing.T, name string) {
	t.Helper()
	initialized(t, name)
	claim := readClaim(t, name)
	for i := range claim.Status.Conditions {
		claim.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
	}
	server.Patch(t, api.NodeClaimsPath+"/"+name+"/status",
		map[string]any{"status": map[string]any{"conditions": claim.Status.Conditions}})
	server.Patch(t, api.NodeClaimsPath+"/"+name, disruption.MarkRebalance(claim, time.Now(), time.Now()))
	server.Pod(t, "guest-"+name, "node-"+name)
	t.Cleanup(func() { server.Delete(t, functiontest.PodsPath+"/guest-"+name); server.EndPods(t, "node-"+name) })
}

// replacement is the claim that replaces the named one, or nil.
func replacement(t *testing.T, name string) *api.NodeClaim {
	t.Helper()
	var found *api.NodeClaim
	for _, claim := range functiontest.Get[api.NodeClaimList](t, server, api.NodeClaimsPath).Items {
		if claim.Annotations[disruption.ReplacesAnnotationKey] == name && claim.DeletionTimestamp == nil {
			if found != nil {
				t.Fatalf("%s and %s both replace %s", found.Name, claim.Name, name)
			}
			found = &claim
		}
	}
	return found
}

// arrive acts as provision, the machine and lifecycle: it initializes the claim's node.
func arrive(t *testing.T, claim *api.NodeClaim) {
	t.Helper()
	node := "node-" + claim.Name
	conditions := claim.Status.Conditions
	for _, kind := range []string{api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized} {
		api.SetCondition(&conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue}, time.Now())
	}
	server.Patch(t, api.NodeClaimsPath+"/"+claim.Name+"/status",
		map[string]any{"status": map[string]any{"providerID": api.ProviderID("us-east-1a", "i-"+claim.Name),
			"conditions": conditions}})
	server.Node(t, node, "i-"+claim.Name)
	server.Patch(t, functiontest.NodesPath+"/"+node, map[string]any{
		"metadata": map[string]any{"labels": map[string]string{api.NodeInitializedLabelKey: "true"}},
		"spec":     map[string]any{"taints": []corev1.Taint{}},
	})
}

// forget removes the claims that replace others.
func forget(t *testing.T) {
	t.Helper()
	for _, claim := range functiontest.Get[api.NodeClaimList](t, server, api.NodeClaimsPath).Items {
		if claim.Annotations[disruption.ReplacesAnnotationKey] != "" {
			server.Delete(t, api.NodeClaimsPath+"/"+claim.Name)
			server.Patch(t, api.NodeClaimsPath+"/"+claim.Name,
				map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
			server.Delete(t, functiontest.NodesPath+"/node-"+claim.Name)
		}
	}
}

func isBeingReplaced(t *testing.T, name string) bool {
	claim := readClaim(t, name)
	_, replaced := claim.Annotations[disruption.ReplacedByAnnotationKey]
	return replaced
}

// expectAvoided fails unless launches avoid the offering of the recommended node.
func expectAvoided(t *testing.T) {
	t.Helper()
	marks, err := inventory.Unavailable(t.Context(), server.Client(t, nil))
	if err != nil || !marks.Has(api.CapacityTypeSpot, "m5.large", "us-east-1a", time.Now()) {
		t.Errorf("the offering is not avoided: %v", err)
	}
}

func TestARecommendedNodeIsDeletedWhenItsReplacementIsInitialized(t *testing.T) {
	pool(t, "100%")
	offers(t)
	recommend(t, "shaky")
	t.Cleanup(func() { forget(t) })
	l := newHarness(t, nil)
	l.mustTick(t)
	made := replacement(t, "shaky")
	if made == nil || !isBeingReplaced(t, "shaky") || !isTainted(t, "shaky") || isEnding(t, "shaky") {
		t.Fatalf("replacement %v, being replaced %t, tainted %t, ending %t", made, isBeingReplaced(t, "shaky"),
			isTainted(t, "shaky"), isEnding(t, "shaky"))
	}
	expectAvoided(t)
	if sent := l.mail.sent["p"]; len(sent) != 1 || sent[0].Reason != queue.ReasonInterruption {
		t.Errorf("provision was sent %+v", sent)
	}
	for range 2 { // nobody has launched it, so that provision is woken again
		l.mustTick(t)
	}
	if len(l.mail.sent["p"]) != 3 || replacement(t, "shaky").Name != made.Name || isEnding(t, "shaky") {
		t.Errorf("provision was sent %d messages; ending %t", len(l.mail.sent["p"]), isEnding(t, "shaky"))
	}
	arrive(t, made)
	l.mustTick(t)
	if !isEnding(t, "shaky") || len(l.mail.sent["l"]) != 1 {
		t.Errorf("ending %t, lifecycle was sent %d messages", isEnding(t, "shaky"), len(l.mail.sent["l"]))
	}
	for _, reason := range []string{"DisruptionLaunching", "DisruptionTerminating"} {
		if !server.Reasons(t, "shaky")[reason] {
			t.Errorf("no event %s", reason)
		}
	}
}

func TestAFailedReplacementIsRolledBack(t *testing.T) {
	for name, fails := range map[string]func(t *testing.T, l *harness, made *api.NodeClaim){
		"given-up": func(t *testing.T, _ *harness, made *api.NodeClaim) {
			server.Delete(t, api.NodeClaimsPath+"/"+made.Name)
			server.Patch(t, api.NodeClaimsPath+"/"+made.Name,
				map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
		},
		"too-slow": func(_ *testing.T, l *harness, _ *api.NodeClaim) { l.ahead += 11 * time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			pool(t, "100%")
			offers(t)
			recommend(t, name)
			t.Cleanup(func() { forget(t) })
			l := newHarness(t, nil)
			l.mustTick(t)
			fails(t, l, replacement(t, name))
			for range 2 {
				l.mustTick(t)
				claim := readClaim(t, name)
				if isBeingReplaced(t, name) || isTainted(t, name) || isEnding(t, name) ||
					api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason) != nil ||
					replacement(t, name) != nil {
					t.Fatalf("annotations %v, tainted %t, ending %t, conditions %v", claim.Annotations, isTainted(t, name),
						isEnding(t, name), claim.Status.Conditions)
				}
			}
			if !server.Reasons(t, name)["DisruptionBlocked"] {
				t.Error("nobody is told why")
			}
			l.ahead += 11 * time.Minute
			l.mustTick(t)
			if !isBeingReplaced(t, name) {
				t.Error("it is not tried again")
			}
		})
	}
}

func TestAMoveBeginsAgainAfterAPassThatDied(t *testing.T) {
	pool(t, "100%")
	offers(t)
	recommend(t, "halfway")
	t.Cleanup(func() { forget(t) })
	// A move to existing nodes begins with this annotation.
	server.Patch(t, api.NodeClaimsPath+"/halfway", disruption.ReplacedBy(readClaim(t, "halfway"), nil))
	newHarness(t, nil).mustTick(t)
	claim := readClaim(t, "halfway")
	if replacement(t, "halfway") == nil || !isBeingReplaced(t, "halfway") ||
		claim.Annotations[disruption.ReplaceAfterAnnotationKey] != "" {
		t.Errorf("replacement %v, annotations %v", replacement(t, "halfway"), claim.Annotations)
	}
}

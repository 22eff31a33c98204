package provision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/shared/version"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func TestPodsThatWaitGetOneNode(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	e.pod("two", "500m", nil)
	response, err := e.handler(alive()).handle(t.Context(), tick("1"))
	if err != nil || len(response.BatchItemFailures) > 0 {
		t.Fatalf("%v, %v", response, err)
	}
	e.oneNode()
	if len(e.sent.messages) != 1 || e.sent.messages[0].Cluster != clusterName {
		t.Errorf("messages to lifecycle: %+v, want one", e.sent.messages)
	}
	if messages := e.events("one", "Nominated"); len(messages) != 1 {
		t.Errorf("events on the pod: %q, want one that names its node", messages)
	}
}

// oneNode checks that there is one claim and one instance, and that each is the other's.
func (e *environment) oneNode() {
	e.t.Helper()
	claims, instances := e.claims(), e.instances()
	if len(claims) != 1 || len(instances) != 1 {
		e.t.Fatalf("%d claims and %d instances, want one of each", len(claims), len(instances))
	}
	claim, instance := claims[0], instances[0]
	if claim.Status.ProviderID != instance.ProviderID() || instance.Tags["karpenter.sh/nodeclaim"] != claim.Name {
		e.t.Errorf(
			"claim %s has %q, instance %s has the tags %v", claim.Name, claim.Status.ProviderID, instance.ID, instance.Tags)
	}
	if !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeLaunched) ||
		claim.Labels["node.kubernetes.io/instance-type"] != instance.InstanceType {
		e.t.Errorf("claim %s: labels %v, conditions %v", claim.Name, claim.Labels, claim.Status.Conditions)
	}
	if len(claim.ManagedFields) > 0 {
		e.t.Errorf("claim %s: %d managers of fields, which every look would read", claim.Name, len(claim.ManagedFields))
	}
}

// later makes a tick due in the time that the next handler lives in.
func later(batch events.SQSEvent) events.SQSEvent {
	batch.Records[0].Body = fmt.Sprintf(
		`{"cluster":%q,"at":%q,"reason":"tick"}`, clusterName, time.Now().Add(2*time.Minute).Format(time.RFC3339Nano))
	return batch
}

func TestATickDeliveredTwiceAtOnceLaunchesOnce(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	e.tickedAtOnce()
	e.oneNode()
}

// A pass under way may have read the cluster before the interrupted node was
// marked: the interruption is looked at again, a tick is not.
func TestAnInterruptionThatMeetsAPassComesAgain(t *testing.T) {
	e := newEnvironment(t)
	now := time.Now()
	if _, err := e.client.AcquireLease(t.Context(), leaseName, "another", now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	e.pod("one", "1", nil)
	for _, batch := range []events.SQSEvent{tick("1"), interruption("2")} {
		if _, err := e.handler(alive()).handle(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if sent := e.sent.messages; len(sent) != 1 || sent[0].Reason != queue.ReasonContinue || sent[0].Hop != 1 ||
		!sent[0].At.After(now) {
		t.Errorf("sent %+v, want the interruption once more, later", sent)
	}
	if len(e.instances()) != 0 {
		t.Error("a pass without the lease launched an instance")
	}
}

// TestAChangeThatMeetsAPassComesAgainAsOne has messages meet a pass. A change on its way covers no interruption,
// because it leads to no plan where nothing waits.
func TestAChangeThatMeetsAPassComesAgainAsOne(t *testing.T) {
	e := newEnvironment(t)
	now := time.Now()
	held, err := e.client.AcquireLease(t.Context(), leaseName, "another", now, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	e.pod("one", "1", nil)
	handler := e.handler(alive())
	handle := func(reason string, hop int) {
		t.Helper()
		body := fmt.Sprintf(`{"cluster":%q,"at":%q,"reason":%q,"hop":%d}`,
			clusterName, now.Format(time.RFC3339Nano), reason, hop)
		batch := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: body}}}
		if _, err := handler.handle(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, wake := range []string{"change", "change", "interruption", "change"} {
		e.sent.messages = nil
		handle(wake, 0)
		reasons := ""
		for _, message := range e.sent.messages {
			reasons += string(message.Reason)
		}
		got = append(got, reasons)
	}
	if fmt.Sprint(got) != "[change  continue ]" {
		t.Errorf("sent %q", got)
	}
	if asked, err := held.ReleaseUnlessAsked(t.Context()); err != nil || !asked {
		t.Errorf("the holder was asked: %t, %v", asked, err)
	}
	handle("change", 1)
	if asked, err := held.ReleaseUnlessAsked(t.Context()); err != nil || asked {
		t.Errorf("the holder was asked once more: %t, %v", asked, err)
	}
}

// TestAChangeNeedsNoPassForPodsThatAreAwaited launches for a pod, and then tells of changes.
func TestAChangeNeedsNoPassForPodsThatAreAwaited(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	count := alive()
	handler := e.handler(count)
	change := func() events.SQSEvent {
		body := fmt.Sprintf(`{"cluster":%q,"at":%q,"reason":"change"}`, clusterName, time.Now().Format(time.RFC3339Nano))
		return events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: body}}}
	}
	for i, plans := range []bool{true, false, true} {
		if i == 2 {
			e.pod("two", "6", nil)
		}
		count.calls = nil
		if _, err := handler.handle(t.Context(), change()); err != nil {
			t.Fatal(err)
		}
		if planned := len(count.calls) > 3; planned != plans {
			t.Errorf("change %d made the calls %q", i+1, count.calls)
		}
	}
	if launched := len(e.instances()); launched != 2 {
		t.Errorf("%d instances", launched)
	}
}

// A pass looks once more for an interruption that arrives during it.
func TestAPassLooksAgainForAnInterruptionThatMetIt(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "6", nil)
	if _, err := e.tapped(e.interrupted()).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	if launched := len(e.instances()); launched != 2 {
		t.Errorf("%d instances after the pass, want one for each pod", launched)
	}
	for _, pod := range []string{"one", "two"} {
		if messages := e.events(pod, "Nominated"); len(messages) != 1 {
			t.Errorf("events on pod %s: %q, want one", pod, messages)
		}
	}
	now := time.Now()
	if lease, err := e.client.AcquireLease(t.Context(), leaseName, "next", now, now.Add(time.Second)); err != nil ||
		lease == nil {
		t.Errorf("the lease after the pass: %v, %v, want it free", lease, err)
	}
}

// The next pass gives the instances of the second look to their claims.
func TestAPassThatDiesInItsSecondLookLaunchesOnce(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "6", nil)
	tap := e.interrupted()
	tap.cutAfter = 2
	if _, err := e.tapped(tap).handle(t.Context(), tick("1")); err == nil {
		t.Fatal("a pass that was cut off says that all is well")
	}
	if launched := len(e.instances()); launched != 2 {
		t.Fatalf("%d instances when it died, want one of each look", launched)
	}
	// A tick would be too old by then.
	if _, err := e.afterwards().handle(t.Context(), interruption("3")); err != nil {
		t.Fatal(err)
	}
	e.nodes(2)
}

// interrupted is a tap at whose first CreateFleet a pod comes, and an interruption that meets the
// pass.
func (e *environment) interrupted() *wiretap {
	met := false
	return &wiretap{limit: func() bool {
		if !met {
			met = true
			e.pod("two", "6", nil)
			if _, err := e.handler(alive()).handle(e.t.Context(), interruption("2")); err != nil {
				e.t.Error(err)
			}
			if len(e.instances()) > 0 {
				e.t.Error("a pass without the lease launched an instance")
			}
		}
		return true
	}}
}

// interruption wakes the function as interrupt does.
func interruption(id string) events.SQSEvent {
	batch := tick(id)
	batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"interruption"`, 1)
	return batch
}

func TestAStarvedOfferingIsLeftOut(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{CapacityType: "spot"})
	e.pod("one", "1", nil)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	instances := e.instances()
	if len(instances) != 1 || instances[0].CapacityType != "on-demand" {
		t.Fatalf("instances %+v, want one on-demand, since no spot is to be had", instances)
	}
	if again := e.handler(alive()); again != nil {
		if _, err := again.handle(t.Context(), tick("2")); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.instances()) != 1 {
		t.Errorf("a second tick launched again: %d instances", len(e.instances()))
	}
}

// A container tells of its tick once a minute, which takes three reads and a write: of freezes, and
// of the status before and after.
func TestAnIdleTickMakesTwoCalls(t *testing.T) {
	e := newEnvironment(t)
	count := alive()
	handler := e.handler(count)
	for _, want := range []int{6, 2, 2} {
		count.calls = nil
		if _, err := handler.handle(t.Context(), tick("1")); err != nil {
			t.Fatal(err)
		}
		if len(count.calls) != want {
			t.Errorf("an idle tick made the calls %q, want a list of the unbound pods and one of the pools", count.calls)
		}
	}
	shown, err := status.Read(t.Context(), e.client)
	told := shown.Deployment
	if err != nil || told == nil || time.Since(told.Tick) > time.Minute || told.Version != version.String() {
		t.Errorf("the tick is told as %+v, %v", told, err)
	}
}

func TestBadInputIsNamedAndStopsNothingElse(t *testing.T) {
	for _, test := range []struct {
		name    string
		arrange func(*environment)
		about   string
		reason  string
		says    []string
	}{
		{
			"a pool whose class does not exist",
			func(e *environment) { e.apply(nodePool("lonely", "missing", nil)) },
			"lonely", api.ReasonNodeClassNotFound, []string{"spec.template.spec.nodeClassRef", `"missing"`, "create it"},
		},
		{
			"a class that selects no subnet",
			func(e *environment) {
				e.apply(nodeClass("nowhere", func(spec map[string]any) {
					spec["subnetSelectorTerms"] = []any{map[string]any{"tags": map[string]any{"no": "such"}}}
				}))
				e.apply(nodePool("nowhere", "nowhere", nil))
			},
			"nowhere", api.ReasonNodeClassNotReady, []string{"spec.subnetSelectorTerms"},
		},
		{
			"a pool whose fee is no price",
			func(e *environment) {
				pool := nodePool("priced", "default", nil)
				pool.SetAnnotations(map[string]string{api.NodeFeeAnnotationKey: "2 cents"})
				e.apply(pool)
			},
			"priced", api.EventReasonInvalidPriceAnnotation,
			[]string{`NodePool "priced"`, "metadata.annotations[whittle.dev/node-fee]", `"2 cents"`, "write US dollars an hour"},
		},
		{
			"a pool that no type suits",
			func(e *environment) {
				e.apply(nodePool("typeless", "default", func(spec map[string]any) {
					spec["template"].(map[string]any)["spec"].(map[string]any)["requirements"] = []any{map[string]any{
						"key": api.LabelInstanceFamily, "operator": "In", "values": []any{"nosuch"},
					}}
				}))
			},
			"typeless", api.EventReasonNoCompatibleInstanceTypes, []string{"filtered out all compatible"},
		},
		{
			"a pod that fits no type",
			func(e *environment) { e.pod("giant", "4000", nil) },
			"giant", "FailedScheduling", []string{`nodepool "default"`, "cpu"},
		},
		{
			"a pod that selects what no pool has",
			func(e *environment) { e.pod("picky", "1", selecting("team", "a")) },
			"picky", "FailedScheduling", []string{`nodepool "default"`, "team"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEnvironment(t)
			test.arrange(e)
			e.pod("one", "1", nil)
			if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
				t.Fatal(err)
			}
			e.oneNode()
			messages := strings.Join(e.events(test.about, test.reason), "\n")
			for _, words := range test.says {
				if !strings.Contains(messages, words) {
					t.Errorf("event %s on %s says %q, want it to name %q", test.reason, test.about, messages, words)
				}
			}
		})
	}
}

func TestAMessageThatIsNotJSONComesBackAndTheOthersAreDone(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	batch := tick("good")
	batch.Records = append(batch.Records, events.SQSMessage{MessageId: "bad", Body: "not JSON"},
		events.SQSMessage{MessageId: "empty", Body: "{}"})
	response, err := e.handler(alive()).handle(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.BatchItemFailures) != 2 || response.BatchItemFailures[0].ItemIdentifier != "bad" ||
		response.BatchItemFailures[1].ItemIdentifier != "empty" {
		t.Errorf("failed messages: %+v", response.BatchItemFailures)
	}
	e.oneNode()
}

func TestAStaleTickIsSkipped(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	handler := e.handler(alive())
	handler.now = func() time.Time { return time.Now().Add(5 * time.Minute) }
	if _, err := handler.handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	if len(e.instances()) != 0 {
		t.Error("a tick five minutes late launched an instance")
	}
}

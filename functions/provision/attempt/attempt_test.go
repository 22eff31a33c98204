package attempt_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/launch"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// claim is a claim that waits for an instance. It was written so long ago, and this is the number
// of its attempt. EC2 refused the earlier ones.
func claim(name string, age time.Duration, number int) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, ResourceVersion: "7", CreationTimestamp: metav1.NewTime(now.Add(-age)),
		Finalizers: []string{api.TerminationFinalizer},
		Annotations: map[string]string{
			api.AttemptAnnotationKey: fmt.Sprint(number), api.FailedAttemptsAnnotationKey: fmt.Sprint(number - 1),
		},
	}}
	made.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	return made
}

// unseen is a claim of which EC2 has not said for so long what became of its attempt.
func unseen(since time.Duration) api.NodeClaim {
	made := claim("a", time.Hour, 1)
	made.Annotations[api.UnseenSinceAnnotationKey] = now.Add(-since).Format(time.RFC3339)
	return made
}

// group is a batch of claims of which as many exist as were written.
func group(fresh bool, claims ...api.NodeClaim) *attempt.Group {
	made := &attempt.Group{Fresh: fresh}
	made.Group = launch.Group{ID: "b", Size: len(claims), Present: len(claims), Token: "b-1", Waiting: claims}
	if len(claims) == 1 {
		made.ID = ""
		return made
	}
	for i := range claims {
		claims[i].Annotations[api.BatchAnnotationKey] = launch.Batch{ID: "b", Size: len(claims), Index: i}.String()
	}
	return made
}

// readyClass is a class that instances can be launched with.
func readyClass() *api.EC2NodeClass {
	class := &api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Default()
	class.Status.InstanceProfile = "profile"
	class.Status.AMIs = []api.AMI{{ID: "ami-1"}}
	class.Status.Subnets = []api.Subnet{{ID: "subnet-1", Zone: "us-east-1a"}}
	class.Status.SecurityGroups = []api.SecurityGroup{{ID: "sg-1"}}
	for _, kind := range []string{
		api.ConditionTypeAMIsReady, api.ConditionTypeSubnetsReady, api.ConditionTypeSecurityGroupsReady,
		api.ConditionTypeInstanceProfileReady, api.ConditionTypeValidationSucceeded, api.ConditionReady,
	} {
		api.SetCondition(&class.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue}, now)
	}
	return class
}

// names describe the steps.
func names(steps []attempt.Step) string {
	var all []string
	for _, step := range steps {
		name := strings.TrimPrefix(reflect.TypeOf(step).String(), "attempt.")
		switch step := step.(type) {
		case attempt.Find:
			name += "(" + names(step.NotFound) + ")"
		case attempt.GiveUp:
			name += fmt.Sprintf("(%d %s %t)", len(step.Claims), step.Reason, step.Certain)
		case attempt.ReportFailure:
			name += fmt.Sprintf("(%d %s", len(step.Claims), step.Reason)
			if step.Expected {
				name += " expected"
			}
			name += ")"
		case attempt.Remember:
			name += fmt.Sprintf("(%d%s)", len(step.Claims), remembered(step))
		case attempt.WriteInstances:
			for _, one := range step.Assignments {
				name += " " + one.Claim.Name + "=" + one.Instance.ID
			}
		case attempt.Record:
			name += " " + step.Reason
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func remembered(step attempt.Remember) string {
	text := ""
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{" next token", step.NextToken}, {" leave batch", step.LeaveBatch}, {" failed", step.Failed},
		{" unseen", step.Unseen.Equal(now)}, {" at once", step.AtOnce},
	} {
		if flag.set {
			text += flag.name
		}
	}
	return text
}

// classThatIs is a class whose condition Ready has the status.
func classThatIs(ready metav1.ConditionStatus) *api.EC2NodeClass {
	class := &api.EC2NodeClass{}
	class.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: ready}}
	return class
}

func TestBegin(t *testing.T) {
	cut := func(fresh bool, deleted time.Duration) *attempt.Group {
		made := group(fresh, claim("a", time.Minute, 1), claim("b", time.Minute, 1))
		made.Size, made.Present = 3, 2
		if deleted > 0 {
			made.Present, made.Deleted = 3, now.Add(-deleted)
		}
		return made
	}
	for _, test := range []struct {
		name  string
		group *attempt.Group
		class *api.EC2NodeClass
		want  string
	}{
		{"a new claim is asked for", group(true, claim("a", 0, 1)), readyClass(), "Request"},
		{"a whole batch is asked for", group(false, claim("a", 0, 1), claim("b", 0, 1)), readyClass(), "Request"},
		{"the second attempt is due at once", group(false, claim("a", time.Second, 2)), readyClass(), "Request"},
		{"the third attempt waits", group(false, claim("a", 19*time.Second, 3)), readyClass(), ""},
		{"the third attempt is due after 20 s", group(false, claim("a", 20*time.Second, 3)), readyClass(), "Request"},
		{"the fourth attempt waits for 60 s", group(false, claim("a", 59*time.Second, 4)), readyClass(), ""},
		{
			"a new claim without a class has no instance", group(true, claim("a", 0, 1)), nil,
			"GiveUp(1 NodeClassNotReady true)",
		},
		{
			"a claim of an earlier pass may have an instance", group(false, claim("a", 0, 1)),
			classThatIs(metav1.ConditionFalse), "GiveUp(1 NodeClassNotReady false)",
		},
		{
			"a class that nobody has resolved is waited for", group(false, claim("a", 0, 1)), &api.EC2NodeClass{},
			"ReportFailure(1 NodeClassReadinessUnknown expected)",
		},
		{
			"so is a class that nobody could resolve", group(true, claim("a", 0, 1)),
			classThatIs(metav1.ConditionUnknown), "ReportFailure(1 NodeClassReadinessUnknown expected)",
		},
		{"a new batch that is not whole was not asked for", cut(true, 0), readyClass(), "Separate"},
		{"an earlier batch that is not whole may have instances", cut(false, 0), readyClass(), "Find(Separate)"},
		{"instances of a claim that was just deleted may still show", cut(false, 80*time.Second), readyClass(), "Find()"},
		{"a deletion long ago is settled", cut(false, 100*time.Second), readyClass(), "Find(Separate)"},
	} {
		if got := names(attempt.Begin(test.group, test.class, now)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestNoOffering(t *testing.T) {
	const none = "GiveUp(1 InsufficientCapacityError false), PlanAgain"
	for _, test := range []struct {
		name  string
		group *attempt.Group
		want  string
	}{
		{"a new claim", group(true, claim("a", 0, 1)), "GiveUp(1 InsufficientCapacityError true), PlanAgain"},
		{"a claim of an earlier pass", group(false, claim("a", time.Minute, 1)), "Find()"},
		{"a claim whose instance EC2 does not show", group(false, unseen(89*time.Second)), "Find()"},
		{"a claim whose instance would show by now", group(false, claim("a", 2*time.Minute, 1)), "Find(" + none + ")"},
	} {
		if got := names(attempt.NoOffering(test.group, "no offering", now)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestAnswered(t *testing.T) {
	instance := func(id string) attempt.Instance {
		return attempt.Instance{ID: id, Type: "m5.large", Zone: "us-east-1a", CapacityType: "spot", ImageID: "ami-1"}
	}
	profile := func(ended bool) attempt.Answer {
		return attempt.Answer{Failure: &attempt.Failure{
			Reason: "InstanceProfileNameInvalid", Class: "InstanceProfileReady", Ended: ended,
		}}
	}
	pair := func(age time.Duration) *attempt.Group { return group(true, claim("a", age, 1), claim("b", age, 1)) }
	quota := attempt.Shortage{
		Key:    "spot:m5.large:us-east-1a",
		Code:   "Max",
		Reason: "SpotQuotaExceeded",
		Advice: "ask for more",
	}
	refused := readyClass()
	api.SetCondition(&refused.Status.Conditions, metav1.Condition{
		Type: api.ConditionTypeSubnetsReady, Status: metav1.ConditionFalse, Reason: api.ReasonLaunchRefused,
	}, now)
	for _, test := range []struct {
		name   string
		group  *attempt.Group
		class  *api.EC2NodeClass
		answer attempt.Answer
		repeat bool
		want   string
	}{
		{
			name: "each claim gets an instance", group: pair(0),
			answer: attempt.Answer{Instances: []attempt.Instance{instance("i-2"), instance("i-1")}},
			want:   "LeaveOut, WriteInstances a=i-1 b=i-2",
		},
		{
			name: "a launch clears the refusal of the class", group: group(true, claim("a", 0, 1)), class: refused,
			answer: attempt.Answer{Instances: []attempt.Instance{instance("i-1")}},
			want:   "LeaveOut, ClearRefusal, WriteInstances a=i-1",
		},
		{
			name: "a shortage does not clear it", group: group(true, claim("a", 0, 1)), class: refused,
			answer: attempt.Answer{Short: []attempt.Shortage{quota}},
			want: "LeaveOut, Record SpotQuotaExceeded, PlanAgain, " +
				"GiveUp(1 InsufficientCapacityError true)",
		},
		{
			name: "a policy denies the type", group: group(true, claim("a", 0, 1)),
			answer: attempt.Answer{Short: []attempt.Shortage{
				{Reason: "Unauthorized", Advice: "EC2 denies m5.large", Refused: true},
			}},
			want: "LeaveOut, Record Unauthorized, PlanAgain, GiveUp(1 Unauthorized true)",
		},
		{
			name: "EC2 has room for one of two", group: pair(0),
			answer: attempt.Answer{Instances: []attempt.Instance{instance("i-1")}, Short: []attempt.Shortage{quota}},
			want: "LeaveOut, Record SpotQuotaExceeded, WriteInstances a=i-1, PlanAgain, " +
				"GiveUp(1 InsufficientCapacityError true)",
		},
		{
			name: "instances of an earlier request may still show", group: pair(0),
			answer: attempt.Answer{Instances: []attempt.Instance{instance("i-1")}, Earlier: true},
			want:   "LeaveOut, WriteInstances a=i-1, PlanAgain, GiveUp(1 InsufficientCapacityError false)",
		},
		{
			name: "EC2 does not answer", group: pair(0),
			answer: attempt.Answer{Failure: &attempt.Failure{Message: "timeout"}},
			want:   "LeaveOut, Fail, ReportFailure(2 LaunchFailed)",
		},
		{
			name: "the token is used up", group: pair(0),
			answer: attempt.Answer{Failure: &attempt.Failure{Message: "ended", Ended: true}},
			want:   "LeaveOut, Fail, ReportFailure(2 LaunchFailed), Remember(2 next token failed)",
		},
		{
			name: "one refusal without a known reason may pass", group: pair(0),
			answer: attempt.Answer{Failure: &attempt.Failure{Ended: true, Unfit: []attempt.Shortage{quota}}},
			want:   "LeaveOut, Fail, ReportFailure(2 LaunchFailed), Remember(2 next token failed)",
		},
		{
			name: "after two the offerings are left out", group: group(false, claim("a", 0, 2)),
			answer: attempt.Answer{Failure: &attempt.Failure{Ended: true, Unfit: []attempt.Shortage{quota}}},
			want:   "LeaveOut, LeaveOut, Fail, ReportFailure(1 LaunchFailed), Remember(1 next token failed)",
		},
		{
			name: "the rest of a batch leaves it", group: pair(0),
			answer: attempt.Answer{
				Instances: []attempt.Instance{instance("i-1")}, Failure: &attempt.Failure{Message: "ended", Ended: true},
			},
			want: "LeaveOut, WriteInstances a=i-1, Fail, ReportFailure(1 LaunchFailed), Remember(1 next token leave batch failed)",
		},
		{
			name: "the class is the cause", group: group(true, claim("a", 0, 1)),
			answer: attempt.Answer{Failure: &attempt.Failure{Reason: "AMINotFound", Class: "AMIsReady"}},
			want:   "LeaveOut, Fail, RefuseClass, ReportFailure(1 AMINotFound), Remember(1 failed)",
		},
		{
			name: "a launch template may be too new for EC2", group: group(true, claim("a", 0, 1)),
			answer: attempt.Answer{Failure: &attempt.Failure{Reason: "LaunchTemplateNotFound"}},
			want:   "LeaveOut, ReportFailure(1 LaunchTemplateNotFound expected)",
		},
		{
			name: "but not for ever", group: group(true, claim("a", time.Minute, 1)),
			answer: attempt.Answer{Failure: &attempt.Failure{Reason: "LaunchTemplateNotFound"}},
			want:   "LeaveOut, Fail, ReportFailure(1 LaunchTemplateNotFound), Remember(1 failed)",
		},
		{
			name: "a launch template that is gone is made again at once", group: group(true, claim("a", time.Minute, 1)),
			repeat: true,
			answer: attempt.Answer{Failure: &attempt.Failure{Reason: "LaunchTemplateNotFound", Ended: true}},
			want:   "LeaveOut, Fail, ReportFailure(1 LaunchTemplateNotFound), Remember(1 next token failed at once)",
		},
		{
			name: "also for a new claim", group: group(true, claim("a", 0, 1)), repeat: true,
			answer: attempt.Answer{Failure: &attempt.Failure{Reason: "LaunchTemplateNotFound", Ended: true}},
			want:   "LeaveOut, ReportFailure(1 LaunchTemplateNotFound expected), Remember(1 next token at once)",
		},
		{
			name: "but only once", group: group(true, claim("a", time.Minute, 1)),
			answer: attempt.Answer{Failure: &attempt.Failure{Reason: "LaunchTemplateNotFound", Ended: true}},
			want:   "LeaveOut, Fail, ReportFailure(1 LaunchTemplateNotFound), Remember(1 next token failed)",
		},
		{
			name: "a refused request may have been carried out before", group: group(false, claim("a", time.Minute, 1)),
			answer: attempt.Answer{Failure: &attempt.Failure{Reason: "Unauthorized", Unseen: true}},
			want:   "LeaveOut, Fail, ReportFailure(1 Unauthorized), Remember(1 failed)",
		},
		{
			name: "a new instance profile is not known yet", group: pair(29 * time.Second), answer: profile(true),
			want: "LeaveOut, ReportFailure(2 InstanceProfileNameInvalid expected), Remember(2 next token)",
		},
		{
			name: "a new instance profile fails the whole call", group: pair(0), answer: profile(false),
			want: "LeaveOut, ReportFailure(2 InstanceProfileNameInvalid expected)",
		},
		{
			name: "an instance profile stays unknown", group: pair(30 * time.Second), answer: profile(true),
			want: "LeaveOut, Fail, RefuseClass, ReportFailure(2 InstanceProfileNameInvalid), Remember(2 next token failed)",
		},
		{
			name: "an earlier launch does not show yet", group: group(false, claim("a", time.Minute, 1)),
			answer: attempt.Answer{Failure: &attempt.Failure{Message: "unseen", Unseen: true}},
			want:   "LeaveOut, Fail, ReportFailure(1 LaunchFailed), Remember(1 unseen)",
		},
		{
			name: "an earlier launch still does not show", group: group(false, unseen(89*time.Second)),
			answer: attempt.Answer{Failure: &attempt.Failure{Message: "unseen", Unseen: true}},
			want:   "LeaveOut, Fail, ReportFailure(1 LaunchFailed)",
		},
		{
			name: "an earlier launch never shows", group: group(false, unseen(90*time.Second)),
			answer: attempt.Answer{Failure: &attempt.Failure{Message: "unseen", Unseen: true}},
			want:   "LeaveOut, Fail, GiveUp(1 LaunchFailed false)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := attempt.Launched{Group: test.group, Class: test.class, Pool: &api.NodePool{}, Repeat: test.repeat}
			if in.Class == nil {
				in.Class = readyClass()
			}
			steps, err := attempt.Answered(in, test.answer, now)
			if got := names(steps); got != test.want || err != nil {
				t.Errorf("%s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestAnInstanceIsWrittenWithItsOffering(t *testing.T) {
	types := []catalog.InstanceType{{Name: "m5.large", OnDemandPrice: 0.1, Offerings: []catalog.Offering{
		{Zone: "us-east-1a", CapacityType: "on-demand", Price: 0.1},
		{Zone: "us-east-1a", ZoneID: "use1-az1", CapacityType: "spot", Price: 0.03},
	}}}
	instance := attempt.Instance{ID: "i-1", Type: "m5.large", Zone: "us-east-1a", CapacityType: "spot", ImageID: "ami-1"}
	in := attempt.Launched{Group: group(true, claim("a", 0, 1)), Class: readyClass(), Types: types}
	steps, err := attempt.Answered(in, attempt.Answer{Instances: []attempt.Instance{instance}}, now)
	if err != nil {
		t.Fatal(err)
	}
	got := steps[1].(attempt.WriteInstances).Assignments[0]
	if got.Price != 0.03 || got.Savings.PerHour <= 0.06 {
		t.Errorf("price %v, savings %+v", got.Price, got.Savings)
	}
	labels := got.Metadata["metadata"].(map[string]any)["labels"].(map[string]string)
	for key, want := range map[string]string{
		corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
		api.CapacityTypeLabelKey: "spot", api.LabelInstanceID: "i-1", api.LabelTopologyZoneID: "use1-az1",
	} {
		if labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, labels[key], want)
		}
	}
	stored := claim("a", 0, 1)
	stored.ResourceVersion = "8"
	stored.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeRegistered, Status: metav1.ConditionTrue}}
	patch := got.Status(&stored, now)
	for patch, version := range map[*map[string]any]string{&got.Metadata: "7", &patch: "8"} {
		if (*patch)["metadata"].(map[string]any)["resourceVersion"] != version {
			t.Errorf("%v does not hold for version %s only", *patch, version)
		}
	}
	status := patch["status"].(map[string]any)
	if !api.ConditionTrue(status["conditions"].([]metav1.Condition), api.ConditionTypeRegistered) {
		t.Errorf("a condition that another pass has written is taken back: %v", status["conditions"])
	}
	if status["providerID"] != "aws:///us-east-1a/i-1" || status["imageID"] != "ami-1" {
		t.Errorf("status %v", status)
	}
	if !api.ConditionTrue(status["conditions"].([]metav1.Condition), api.ConditionTypeLaunched) {
		t.Errorf("conditions %v", status["conditions"])
	}
}

func TestPatchesHoldOnlyForTheClaimThatWasRead(t *testing.T) {
	made := claim("a", 0, 2)
	made.Annotations[api.BatchAnnotationKey] = "b/2/0"
	for name, patch := range map[string]map[string]any{
		"release": attempt.Release(&made), "memory": attempt.Memory{NextToken: true}.Patch(&made),
		"failure": attempt.FailureStatus(&made, "LaunchFailed", "why", now),
	} {
		if patch["metadata"].(map[string]any)["resourceVersion"] != "7" {
			t.Errorf("%s: %v", name, patch)
		}
	}
	if attempt.Hold(&made) != nil {
		t.Error("a claim with a finalizer is patched")
	}
	made.Finalizers = nil
	if attempt.Hold(&made) == nil {
		t.Error("a claim without a finalizer is not held")
	}
	annotations := func(memory attempt.Memory) any {
		return memory.Patch(&made)["metadata"].(map[string]any)["annotations"]
	}
	for memory, want := range map[attempt.Memory]map[string]any{
		{NextToken: true, LeaveBatch: true, Failed: true}: {
			api.AttemptAnnotationKey: "3", api.BatchAnnotationKey: nil, api.FailedAttemptsAnnotationKey: "2",
			api.UnseenSinceAnnotationKey: nil,
		},
		{Failed: true}:     {api.FailedAttemptsAnnotationKey: "2"},
		{LeaveBatch: true}: {api.BatchAnnotationKey: nil},
		{Unseen: now}:      {api.UnseenSinceAnnotationKey: "2026-03-01T12:00:00Z"},
	} {
		if got := annotations(memory); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: annotations %v, want %v", memory, got, want)
		}
	}
	if got := attempt.Cut(strings.Repeat("x", 2000)); len(got) != attempt.MaximumMessage ||
		!strings.HasSuffix(got, "...") {
		t.Errorf("a long message is cut to %d bytes", len(got))
	}
}

package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclass"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
)

const classesPath = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"

func makeClass(t *testing.T, name string, change ...func(*api.EC2NodeClass)) *api.EC2NodeClass {
	t.Helper()
	class := &api.EC2NodeClass{TypeMeta: metav1.TypeMeta{APIVersion: "karpenter.k8s.aws/v1", Kind: api.EC2NodeClassKind},
		ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.Role = "nodes"
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latest"}}
	class.Spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{ID: "subnet-1"}}
	class.Spec.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{{ID: "sg-1"}}
	for _, f := range change {
		f(class)
	}
	return functiontest.Create(t, server, classesPath, class)
}

func readClass(t *testing.T, name string) *api.EC2NodeClass {
	return functiontest.Get[api.EC2NodeClass](t, server, classesPath+"/"+name)
}

// minute sets the clock to a minute of the hour, which decides whether a tick sweeps.
func (l *life) minute(minute int) {
	for l.now().Minute()%sweepEvery != minute {
		l.clock.ahead += time.Minute
	}
}

// betweenSweeps moves the clock on, by as little as can be, until neither this minute nor the next
// two sweep. What the API server creates would otherwise be old at once.
func (l *life) betweenSweeps() {
	for (l.now().Minute()+2)%sweepEvery <= 2 {
		l.clock.ahead += time.Minute
	}
}

func (l *life) tickOnce(t *testing.T) {
	t.Helper()
	response, err := l.handle(t.Context(), wakes(t, l.tick()))
	if err != nil || len(response.BatchItemFailures) != 0 {
		t.Fatalf("%+v, %v", response, err)
	}
}

// furnish creates what a launch creates for the class, and the same for another class.
func (m *fakeMade) furnish(class *api.EC2NodeClass) {
	for _, id := range []string{"lt-1", "lt-2"} {
		m.templates[id] = nodeclass.Template{ID: id, Name: "karpenter.k8s.aws/" + id, Class: class.Name, Created: time.Now()}
	}
	m.templates["lt-other"] = nodeclass.Template{ID: "lt-other", Class: "another", Created: time.Now()}
	for _, name := range []string{"old-role", "new-role"} {
		m.profiles[name] = fakeProfile{Profile: nodeclass.Profile{Name: name, ClassUID: string(class.UID)}}
	}
	m.profiles["other-profile"] = fakeProfile{Profile: nodeclass.Profile{Name: "other-profile", ClassUID: "another"}}
}

// TestAClassEndsWithoutIAM is about a VPC without a way to IAM, or a policy against IAM. The classes there
// name their profiles.
func TestAClassEndsWithoutIAM(t *testing.T) {
	for name, iam := range map[string]error{
		"out of reach": errors.New("dial tcp: i/o timeout"),
		"denied":       &smithy.GenericAPIError{Code: "AccessDenied", Message: "explicit deny in a permissions boundary"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.made.iam = iam
			l.betweenSweeps()
			// Events outlive their class, so that each case has a class of its own.
			ofRole := "of-role-" + strings.ReplaceAll(name, " ", "-")
			makeClass(t, "own-profile", func(c *api.EC2NodeClass) {
				c.Spec.Role, c.Spec.InstanceProfile = "", aws.String("nodes")
			})
			l.tickOnce(t)
			server.Delete(t, classesPath+"/own-profile")
			l.tickOnce(t)
			if readClass(t, "own-profile") != nil {
				t.Error("the class with a profile of its own stays")
			}
			makeClass(t, ofRole)
			l.tickOnce(t)
			server.Delete(t, classesPath+"/"+ofRole)
			if _, err := l.handle(t.Context(), wakes(t, l.tick())); !errors.Is(err, iam) {
				t.Errorf("the tick says %v, want IAM's failure for the class with a role", err)
			}
			if readClass(t, ofRole) == nil {
				t.Error("the class with a role ended, and its profiles are left")
			}
			if told := server.Reasons(t, ofRole)["FailedTermination"]; told != (name == "denied") {
				t.Errorf("an event tells of a denial: %v", told)
			}
			l.made.iam = nil
			l.tickOnce(t)
			if readClass(t, ofRole) != nil {
				t.Error("the class stays although IAM answers")
			}
			// The sweep needs IAM too, and fails no tick.
			l.made.iam = iam
			l.minute(0)
			l.tickOnce(t)
		})
	}
}

func TestAClassEndsAfterItsClaims(t *testing.T) {
	l := newLife(t)
	l.betweenSweeps()
	class := makeClass(t, "leaving")
	l.made.furnish(class)
	l.tickOnce(t)
	if held := readClass(t, "leaving"); !slices.Contains(held.Finalizers, api.EC2NodeClassTerminationFinalizer) {
		t.Fatalf("finalizers are %v", held.Finalizers)
	}
	server.Claim(t, "holder", "", func(c *api.NodeClaim) { c.Spec.NodeClassRef.Name = "leaving" })
	server.Delete(t, classesPath+"/leaving")
	l.tickOnce(t)
	if readClass(t, "leaving") == nil || len(l.made.left()) != 6 {
		t.Fatalf("the class went before its claim; left is %v", l.made.left())
	}
	if reasons := server.Reasons(t, "leaving"); !reasons["WaitingOnNodeClaimTermination"] {
		t.Errorf("events are %v", reasons)
	}
	server.Patch(t, api.NodeClaimsPath+"/holder", map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
	server.Delete(t, api.NodeClaimsPath+"/holder")
	l.until(t, "", func() bool { return readClass(t, "leaving") == nil })
	if left := l.made.left(); !slices.Equal(left, []string{"lt-other", "other-profile"}) {
		t.Errorf("left are %v", left)
	}
}

func TestSweep(t *testing.T) {
	l := newLife(t)
	class := makeClass(t, "kept")
	t.Cleanup(func() {
		server.Patch(t, classesPath+"/kept", map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
		server.Delete(t, classesPath+"/kept")
	})
	server.Patch(t, classesPath+"/kept/status",
		map[string]any{"status": map[string]any{"instanceProfile": "profile-of-kept"}})
	l.ec2.launch("i-kept", map[string]string{fleet.LaunchTemplateTagKey: "lt-used"})
	l.ec2.instances[0].LaunchTime = time.Now().Add(24 * time.Hour) // too young to be garbage
	template := func(id, class string, created time.Time) {
		l.made.templates[id] = nodeclass.Template{ID: id, Class: class, Created: created}
	}
	template("lt-used", "kept", time.Now().Add(-2*time.Hour))
	template("lt-idle", "kept", time.Now().Add(-2*time.Hour))
	template("lt-young", "kept", time.Now().Add(24*time.Hour))
	template("lt-waited-for", "waiting", time.Now().Add(-2*time.Hour))
	profile := func(name, uid string, unused time.Time, foreign bool) {
		l.made.profiles[name] = fakeProfile{Profile: nodeclass.Profile{Name: name, ClassUID: uid}, unusedSince: unused,
			foreign: foreign}
	}
	profile("used-by-claim", string(class.UID), time.Time{}, false)
	profile("idle", string(class.UID), time.Time{}, false)
	profile("of-nobody", "gone", time.Time{}, false)
	profile("foreign", "gone", time.Time{}, true)
	server.Claim(t, "waiting", "", func(c *api.NodeClaim) {
		c.Spec.NodeClassRef.Name = "waiting"
		c.Annotations = map[string]string{api.AnnotationInstanceProfile: "used-by-claim"}
	})

	start := time.Now()
	l.Handler.now = func() time.Time { return start.Add(l.clock.ahead) } // no tick slips into the next minute
	l.betweenSweeps()
	l.tickOnce(t)
	if left := l.made.left(); len(left) != 8 {
		t.Fatalf("swept outside of its minute: %v", left)
	}
	l.minute(0)
	l.tickOnce(t)
	if left := strings.Join(l.made.left(),
		" "); left != "foreign idle lt-used lt-waited-for lt-young of-nobody used-by-claim" {
		t.Errorf("left are %s", left)
	}
	for name, marked := range map[string]bool{"idle": true, "of-nobody": true, "used-by-claim": false, "foreign": false} {
		if l.made.profiles[name].unusedSince.IsZero() == marked {
			t.Errorf("%s is marked at %s", name, l.made.profiles[name].unusedSince)
		}
	}
	// Half an hour later they stay. A profile that is used again loses its mark.
	l.clock.ahead += 30 * time.Minute
	server.Patch(t, classesPath+"/kept/status", map[string]any{"status": map[string]any{"instanceProfile": "idle"}})
	l.tickOnce(t)
	if left := strings.Join(l.made.left(), " "); !strings.Contains(left, "of-nobody") ||
		!l.made.profiles["idle"].unusedSince.IsZero() {
		t.Errorf("left are %s, idle is marked at %s", left, l.made.profiles["idle"].unusedSince)
	}
	l.clock.ahead += 30 * time.Minute
	// The claim that waited was given up meanwhile. Its template goes once the claim has gone, which may
	// take a tick more.
	for range 3 {
		if l.tickOnce(t); !slices.Contains(l.made.left(), "lt-waited-for") {
			break
		}
	}
	if left := strings.Join(l.made.left(), " "); readClaim(t, "waiting") != nil ||
		left != "foreign idle lt-used lt-young used-by-claim" {
		t.Errorf("left are %s", left)
	}
}

func TestNothingIsSweptWithoutAList(t *testing.T) {
	l := newLife(t)
	l.minute(0)
	l.made.templates["lt-idle"] = nodeclass.Template{ID: "lt-idle", Class: "c", Created: time.Now().Add(-2 * time.Hour)}
	l.ec2.refuse = &fakeRefusal{}
	_, _ = l.handle(t.Context(), wakes(t, l.tick()))
	if left := l.made.left(); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

type fakeRefusal struct{}

func (*fakeRefusal) Error() string { return "EC2 is busy" }

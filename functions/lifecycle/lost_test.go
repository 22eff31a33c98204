package lifecycle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	servers "github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// setNotReady makes the node one whose kubelet is silent.
func setNotReady(t *testing.T, node string) {
	t.Helper()
	server.Patch(t, functiontest.NodesPath+"/"+node+"/status", map[string]any{"status": map[string]any{
		"conditions": []map[string]any{
			{"type": "Ready", "status": "Unknown", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)},
		},
	}})
}

func TestAnInstanceWithoutItsTagsRuns(t *testing.T) {
	l := newLife(t)
	l.clock.leaveHalfHour()
	l.join(t, "stripped")
	server.Pod(t, "tenant", "node-stripped")
	l.ec2.unlisted = map[string]bool{"i-stripped": true}
	for _, key := range []string{api.NameTagKey, api.NodeClaimTagKey, api.EKSClusterNameTagKey} {
		delete(l.ec2.tags("i-stripped"), key)
	}
	setNotReady(t, "node-stripped")
	l.clock.ahead += 10 * time.Minute // EC2 would show a new instance by then
	for range 3 {
		l.tickOnce(t)
	}
	if claim := readClaim(t, "stripped"); claim == nil || claim.DeletionTimestamp != nil {
		t.Fatal("a claim whose instance runs is deleted")
	}
	for _, key := range []string{api.NameTagKey, api.NodeClaimTagKey, api.EKSClusterNameTagKey} {
		if l.ec2.tags("i-stripped")[key] == "" {
			t.Errorf("the tag %s is not restored", key)
		}
	}

	// The end of such a claim evicts its pods, and does not declare the node out of service.
	server.Delete(t, api.NodeClaimsPath+"/stripped")
	l.until(t, "", func() bool {
		node := readNode(t, "node-stripped")
		if slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeOutOfService
		}) {
			t.Fatal("a node whose instance runs is out of service")
		}
		return server.Reasons(t, "tenant")["Evicted"]
	})
	l.until(t, "node-stripped", func() bool { return readClaim(t, "stripped") == nil })
	if len(l.ec2.running()) != 0 {
		t.Errorf("running %v", l.ec2.running())
	}
}

func TestEC2IsAskedByIDOnlyAboutInstancesInQuestion(t *testing.T) {
	ec2 := &fakeEC2{}
	ec2.launch("i-runs", nil)
	ec2.launch("i-unlisted", nil)
	ec2.launch("i-stopped", nil)
	ec2.instances[2].State = "stopped"
	ec2.unlisted = map[string]bool{"i-unlisted": true}
	in := scope{tick: true}
	var claims []api.NodeClaim
	for _, id := range []string{"i-runs", "i-unlisted", "i-stopped", "i-unknown"} {
		claim := api.NodeClaim{}
		claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
		claim.Name, claim.Status.ProviderID = id, "aws:///us-east-1a/"+id
		claims = append(claims, claim)
	}
	listed, err := listInstances(t.Context(), ec2)
	if err != nil || !listed.answered {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	ids := instancesToDescribe(in, claims, listed)
	described, err := describeInstances(t.Context(), ec2, ids)
	if err != nil || len(ec2.described) != 1 ||
		!slices.Equal(ec2.described[0], []string{"i-stopped", "i-unknown", "i-unlisted"}) {
		t.Errorf("asked by id about %v, %v", ec2.described, err)
	}
	for _, view := range buildViews(in, facts{claims: claims, listed: listed, described: described}) {
		unknown := view.Claim.Name == "i-unknown"
		if view.Absent != unknown || len(view.Instances) == 1 == unknown {
			t.Errorf("%s: absent %t, instances %v", view.Claim.Name, view.Absent, view.Instances)
		}
	}
	t.Run("a refusal proves nothing", func(t *testing.T) {
		ec2.refuse = errors.New("RequestLimitExceeded")
		described, err := describeInstances(t.Context(), ec2, ids)
		for _, view := range buildViews(in, facts{claims: claims, listed: listed, described: described}) {
			if view.Absent {
				t.Errorf("%s is absent", view.Claim.Name)
			}
		}
		if !errors.Is(err, ec2.refuse) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("without a list only ending claims are asked for", func(t *testing.T) {
		if ids := instancesToDescribe(in, claims, listing{}); len(ids) != 0 {
			t.Errorf("asked for %v", ids)
		}
	})
}

func TestAnInstanceThatRunsAfterAllIsLeftAlone(t *testing.T) {
	steps := []nodeclaim.Step{
		nodeclaim.RequireHalted{InstanceID: "i-1"}, nodeclaim.Terminate{InstanceID: "i-1"},
	}
	for _, test := range []struct {
		state     string
		terminate bool
	}{
		{"running", false}, {"pending", false}, {"stopping", false}, {"shutting-down", false},
		{"stopped", true}, {"", true},
	} {
		t.Run(test.state, func(t *testing.T) {
			ec2 := &fakeEC2{}
			if test.state != "" {
				ec2.instances = []fleet.Instance{{ID: "i-1", State: test.state}}
			}
			p := &performer{fleet: ec2, now: time.Now}
			changed, err := p.do(t.Context(), nil, steps)
			if err != nil || changed == test.terminate {
				t.Errorf("changed %t, %v", changed, err)
			}
		})
	}
	t.Run("EC2 does not answer", func(t *testing.T) {
		refusal := errors.New("RequestLimitExceeded")
		p := &performer{fleet: &fakeEC2{refuse: refusal}, now: time.Now}
		if _, err := p.do(t.Context(), nil, steps); !errors.Is(err, refusal) {
			t.Errorf("error %v", err)
		}
	})
}

// vanish removes the node past its finalizer.
func vanish(t *testing.T, node string) {
	t.Helper()
	server.Patch(t, functiontest.NodesPath+"/"+node, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
	server.Delete(t, functiontest.NodesPath+"/"+node)
}

func TestANodeThatVanishesComesBackOrEnds(t *testing.T) {
	l := newLife(t)
	l.clock.leaveHalfHour()
	l.join(t, "vanishes")
	vanish(t, "node-vanishes")
	l.until(t, "", func() bool { return !isReady(t, "vanishes") })

	server.Node(t, "node-vanishes", "i-vanishes")
	l.until(t, "node-vanishes", func() bool { return isReady(t, "vanishes") })
	expectJoined(t, readClaim(t, "vanishes"))

	vanish(t, "node-vanishes")
	began := l.now()
	l.until(t, "", func() bool {
		l.clock.ahead += 20 * time.Second
		return readClaim(t, "vanishes") == nil
	})
	if took := l.now().Sub(began); took > 5*time.Minute {
		t.Errorf("the claim stayed for %s", took)
	}
	if len(l.ec2.running()) != 0 {
		t.Errorf("running %v", l.ec2.running())
	}
}

// TestALaggingAPIServerLosesNoVolume attaches a volume after the watch cache has stopped.
func TestALaggingAPIServerLosesNoVolume(t *testing.T) {
	l, lag := newLife(t), &servers.Lag{}
	client := server.Client(t, lag.Wrap)
	l.connect = func(context.Context) (kubernetes, error) { return consistent(client, nil) }
	if _, err := client.VolumeAttachments(t.Context()); err != nil { // the cache has none
		t.Fatal(err)
	}
	lag.Freeze()
	l.join(t, "lagged")
	volume := "pv-lagged"
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va-lagged"}}
	attachment.Spec.Attacher, attachment.Spec.NodeName = "ebs.csi.aws.com", "node-lagged"
	attachment.Spec.Source.PersistentVolumeName = &volume
	const path = "/apis/storage.k8s.io/v1/volumeattachments"
	functiontest.Create(t, server, path, attachment)
	server.Delete(t, api.NodeClaimsPath+"/lagged")
	for range 10 {
		l.tickOnce(t)
		l.clock.ahead += 5 * time.Second
	}
	if !slices.Contains(l.ec2.running(), "i-lagged") {
		t.Error("the instance was terminated under an attached volume")
	}
	server.Delete(t, path+"/va-lagged")
	l.until(t, "", func() bool { return readClaim(t, "lagged") == nil })
}

// newClaim lists a claim only in the second reading.
type newClaim struct {
	kubernetes
	claim api.NodeClaim
}

func (n newClaim) NodeClaims(context.Context) ([]api.NodeClaim, error) {
	return []api.NodeClaim{n.claim}, nil
}

func TestAnInstanceWhoseClaimAppearsIsNoStray(t *testing.T) {
	ec2 := &fakeEC2{}
	ec2.launch("i-new", map[string]string{api.NodeClaimTagKey: "new"})
	ec2.launch("i-stray", map[string]string{api.NodeClaimTagKey: "gone"})
	listed, err := listInstances(t.Context(), ec2)
	if err != nil {
		t.Fatal(err)
	}
	client := newClaim{claim: api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}
	p := passOver(client, time.Now, &seen{scope: scope{tick: true}, listing: listed})
	steps, err := p.unclaimed(t.Context())
	if err != nil || len(steps) != 1 || steps[0][0] != (nodeclaim.Terminate{InstanceID: "i-stray"}) {
		t.Errorf("steps %v, %v", steps, err)
	}
}

func TestNothingIsDestroyedOnAnOldReading(t *testing.T) {
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "expired"}}
	claim.Status.ProviderID = "aws:///us-east-1a/i-expired"
	claim.Spec.ExpireAfter = api.DurationOf(time.Hour)
	p := passOver(nil, time.Now, &seen{})
	done := p.workOnClaim(t.Context(), nodeclaim.View{Claim: claim, Tick: true}, true) // a write would panic
	if done.again != afterConflict || done.failed != nil {
		t.Errorf("looks again after %s, %v", done.again, done.failed)
	}
}

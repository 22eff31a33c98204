package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
)

func (v *volumes) VolumeAttachments(context.Context) ([]storagev1.VolumeAttachment, error) {
	return nil, nil
}

func (v *volumes) PodsVersion(context.Context) (string, error) { return "7", nil }

func TestANodeWhosePodsCannotBeReadKeepsNoOtherWaiting(t *testing.T) {
	deleted := metav1.Now()
	var views []nodeclaim.View
	for _, name := range []string{"unreadable", "a"} {
		views = append(views, nodeclaim.View{
			Claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: &deleted}},
			Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: name}}},
		})
	}
	client := &volumes{pods: map[string][]corev1.Pod{"a": {podWithVolume("web", "data")}}}
	// The client can only read: any write to the node would panic.
	p := passOver(client, time.Now, &seen{views: views[:1]})
	if err := p.run(t.Context()).failed; err == nil || !strings.Contains(err.Error(), `"unreadable"`) {
		t.Errorf("error %v", err)
	}
	nodes := &contents{client: client, now: time.Now, pods: newNodePods(client, time.Now, len(views), mostListed+1)}
	if err := nodes.read(t.Context(), &views[0]); err == nil {
		t.Error("no error")
	}
	if err := nodes.read(t.Context(), &views[1]); err != nil || len(views[1].Pods) != 1 {
		t.Errorf("error %v, pods %v", err, views[1].Pods)
	}
}

// crowded is a cluster in which no drain continues until a claim is written.
type crowded struct {
	volumes
	written        chan struct{}
	reads, changes atomic.Int32
}

func (c *crowded) PodsOnNode(ctx context.Context, node, _ string) ([]corev1.Pod, error) {
	c.reads.Add(1)
	select {
	case <-c.written:
		return nil, errors.New("enough")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *crowded) Pods(ctx context.Context) ([]corev1.Pod, error) { return c.PodsOnNode(ctx, "", "") }

func (c *crowded) PatchNodeClaim(context.Context, string, map[string]any) (*api.NodeClaim, error) {
	return &api.NodeClaim{}, nil
}

func (c *crowded) PatchNodeClaimStatus(context.Context, string, map[string]any) (*api.NodeClaim, error) {
	if c.changes.Add(1) == 1 {
		close(c.written)
	}
	return &api.NodeClaim{}, nil
}

// passOver is a pass whose only connection is the client.
func passOver(client kubernetes, now func() time.Time, s *seen) *pass {
	return newPass(&Handler{now: now}, client, s)
}

// crowd has many claims whose drains begin, and one whose node will join.
func crowd(at time.Time) *seen {
	deleted := metav1.NewTime(at)
	s := &seen{}
	for i := range 3 * parallel {
		s.views = append(s.views, nodeclaim.View{
			Claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("leaves-", i), DeletionTimestamp: &deleted}},
			Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}},
		})
	}
	joins := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "joins", CreationTimestamp: deleted}}
	joins.Status.ProviderID = "aws:///us-east-1a/i-joins"
	s.views = append(s.views, nodeclaim.View{Claim: joins})
	return s
}

func TestNodesJoinBesideDrainsThatBegin(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := passOver(&crowded{written: make(chan struct{})}, time.Now, crowd(time.Now()))
	if err := p.run(ctx).failed; ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("the claim that joins had to wait for the drains: %v", err)
	}
}

func TestWorkBeyondAPassesTimeWaitsForTheNextPass(t *testing.T) {
	for _, test := range []struct {
		name           string
		tick           bool
		reads, changes int32
	}{
		{"a pass leaves everything", false, 0, 0},
		{"a tick leaves the drains", true, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := &crowded{written: make(chan struct{})}
			start, looks := time.Now().Truncate(time.Hour).Add(10*time.Minute), 0 // not when it sweeps
			var mutex sync.Mutex
			clock := func() time.Time {
				mutex.Lock()
				defer mutex.Unlock()
				if looks++; looks == 1 {
					return start
				}
				return start.Add(turn + time.Second)
			}
			s := crowd(start)
			s.tick = test.tick
			result := passOver(client, clock, s).run(t.Context())
			if result.failed != nil || result.again != afterConflict {
				t.Errorf("looks again after %s, %v", result.again, result.failed)
			}
			if reads, changes := client.reads.Load(), client.changes.Load(); reads != test.reads || changes != test.changes {
				t.Errorf("%d nodes' pods were read, %d claims written", reads, changes)
			}
		})
	}
}

func TestTheClaimsOfAnotherControllerAreLeftAlone(t *testing.T) {
	server.Claim(t, "theirs", "", func(c *api.NodeClaim) {
		c.Spec.NodeClassRef = &api.NodeClassReference{Group: "eks.amazonaws.com", Kind: "NodeClass", Name: "default"}
	})
	t.Cleanup(func() {
		server.Delete(t, api.NodeClaimsPath+"/theirs")
		server.Patch(t, api.NodeClaimsPath+"/theirs", map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
	})
	l := newLife(t)
	l.clock.ahead = time.Hour // past every timeout of ours
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Fatal(err)
	}
	if claim := readClaim(t, "theirs"); claim.DeletionTimestamp != nil || len(claim.Status.Conditions) != 0 {
		t.Errorf("their claim: deleted %v, conditions %+v", claim.DeletionTimestamp, claim.Status.Conditions)
	}
	// The other controller also ends the claim.
	server.Delete(t, api.NodeClaimsPath+"/theirs")
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Fatal(err)
	}
	if claim := readClaim(t, "theirs"); claim == nil || len(claim.Finalizers) == 0 {
		t.Error("their finalizer was removed")
	}
	if len(l.mail.sent["l"]) != 0 {
		t.Errorf("looks were asked for: %+v", l.mail.sent["l"])
	}
}

package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/clustertest"
	"github.com/whittle-dev/whittle/shared/api"
)

// TestCutOffBetweenAnyTwoCalls lets a node join and leave with the function dying
// after each number of changing calls, and living on afterwards. It ends the same
// way each time.
func TestCutOffBetweenAnyTwoCalls(t *testing.T) {
	calls := 1
	for n := 0; n <= calls; n++ {
		t.Run(fmt.Sprintf("after %d calls", n), func(t *testing.T) {
			name, id := fmt.Sprintf("cut-%d", n), fmt.Sprintf("i-cut%d", n)
			cut := clustertest.After(n)
			dying, living := newLife(t, cut), newLife(t, nil)
			// Both see the same EC2, which only the dying one is cut off from.
			world := living.ec2
			world.launch(id, map[string]string{api.NodeClaimTagKey: name})
			dying.fleet = &cutOff{fakeEC2: world, cut: cut}
			server.Claim(t, name, id)
			server.Node(t, "node-"+name, id)
			server.Pod(t, "guest-"+name, "node-"+name)

			for range 100 {
				// It fails when it is cut off, which is what is tested.
				_, _ = dying.handle(t.Context(), wakes(t, dying.tick()))
				if cut.Over() {
					break
				}
				if isReady(t, name) {
					server.Delete(t, api.NodeClaimsPath+"/"+name)
				}
				if readClaim(t, name) == nil {
					break
				}
				server.EndPods(t, "node-"+name)
				dying.clock.ahead += time.Second
				time.Sleep(20 * time.Millisecond)
			}
			living.clock.ahead = dying.clock.ahead
			// Unless it left already, the node joins before it leaves.
			if claim := readClaim(t, name); claim != nil && claim.DeletionTimestamp == nil {
				living.until(t, "node-"+name, func() bool { return isReady(t, name) })
				server.Delete(t, api.NodeClaimsPath+"/"+name)
			}
			living.until(t, "node-"+name, func() bool { return readClaim(t, name) == nil })

			if readNode(t, "node-"+name) != nil {
				t.Error("the node is left over")
			}
			if clustertest.Get[corev1.Pod](t, server, clustertest.PodsPath+"/guest-"+name) != nil {
				t.Error("the pod is left over")
			}
			if running := world.running(); len(running) != 0 {
				t.Errorf("left running: %v", running)
			}
			if !cut.Over() {
				// The whole life fitted: this was the last number worth trying.
				t.Logf("a whole life takes %d changing calls", cut.Made())
				return
			}
			calls = n + 1
		})
	}
	if calls < 10 {
		t.Errorf("a whole life took %d calls: nothing was tested", calls)
	}
}

// cutOff is EC2 behind a Cut.
type cutOff struct {
	*fakeEC2
	cut *clustertest.Cut
}

func (c *cutOff) Terminate(ctx context.Context, id string) error {
	if err := c.cut.Call(true); err != nil {
		return err
	}
	return c.fakeEC2.Terminate(ctx, id)
}

func (c *cutOff) Tag(ctx context.Context, id string, tags map[string]string) error {
	if err := c.cut.Call(true); err != nil {
		return err
	}
	return c.fakeEC2.Tag(ctx, id, tags)
}

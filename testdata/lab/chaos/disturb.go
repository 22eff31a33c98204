package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/reaction"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// functions lists the functions that act on the cluster repeatedly.
func functions() []string {
	return []string{"provision", "lifecycle", "disrupt", "interrupt", "ticker", "watch"}
}

// queues lists the functions that have a queue.
func queues() []string { return []string{"provision", "lifecycle", "disrupt", "interrupt", "warnings"} }

// workloads lists the Deployments that come and go.
func workloads() []string { return []string{"coming", "going"} }

const (
	// wrongBy is the error of a wrong clock.
	wrongBy = 30 * time.Second
	// reclaimAfter is the time from a spot warning to the end. It is a tenth of EC2's, because
	// machines boot in a tenth of their time.
	reclaimAfter = 12 * time.Second
	// busyFor is how long EC2 refuses calls.
	busyFor = 5 * time.Second
	// most is the maximum number of pods of each workload that comes and goes.
	most = 14
	// killPatience limits the wait for an idle function to start work.
	killPatience = 30 * time.Second
	// lostReply is the code of an answer that is lost, and lostWithin how long the loss waits for a
	// call.
	lostReply, lostWithin = "InternalError", time.Minute
)

// disturb carries a disturbance out and names its target.
func (r *run) disturb(ctx context.Context, h Disturbance) (string, error) {
	switch h.Kind {
	case Scale:
		name, count := workloads()[h.Draw%2], int(h.Amount%most)
		return fmt.Sprintf("%s to %d", name, count), r.client.Scale(ctx, "default", name, count)
	case Interrupt, Rebalance, Stop, Vanish:
		return r.strike(h)
	case Shortage:
		share := float64(h.Amount%6) / 10
		r.world.EC2.SetChaos(ec2.Chaos{Share: share, Seed: h.Draw, Period: 20 * time.Second})
		return fmt.Sprintf("%.0f %%", share*100), nil
	case Throttle:
		action := []string{"CreateFleet", "DescribeInstances", "TerminateInstances", "CreateTags", "*"}[h.Draw%5]
		r.world.EC2.Throttle(action, 0.3+0.1*float64(h.Amount%7), busyFor)
		r.effects.later(ctx, h.Kind, busyFor, busyFor, r.moreRefused(action, "RequestLimitExceeded"))
		return action, nil
	case LoseReply:
		action := []string{"CreateFleet", "TerminateInstances", "CreateLaunchTemplate"}[h.Draw%3]
		r.world.EC2.FailCalls(ec2.CallFailure{
			Action: action, Code: lostReply, Times: 1, Done: true, Until: time.Now().Add(lostWithin),
		})
		r.effects.later(ctx, h.Kind, lostWithin, time.Second, r.moreRefused(action, lostReply))
		return action, nil
	case Kill:
		return r.kill(ctx, h), nil
	case Double:
		request := []reaction.Request{{}, {Predecessor: "somebody"}}[h.Draw%2]
		payload, err := json.Marshal(request)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("predecessor %q", request.Predecessor), r.world.InvokeFunction(ctx, "watch", payload)
	case Skew:
		name, ahead := functions()[h.Draw%uint64(len(functions()))], []time.Duration{-wrongBy, 0, wrongBy}[h.Amount%3]
		return fmt.Sprintf("%s by %s", name, ahead), r.world.SetClock(name, ahead)
	case Disturb:
		name := queues()[h.Draw%uint64(len(queues()))]
		return name, r.world.DisturbQueue(name, int(h.Amount%4), int(h.Amount/4%5), 4*time.Second)
	case Restart:
		return "", r.world.RestartControlPlane(ctx)
	case Drift:
		// A tag of the class is a tag of its instances, and the existing ones lack it.
		patch := fmt.Sprintf(`{"spec":{"tags":{"chaos":"%d"}}}`, h.Amount)
		_, err := r.client.Objects.Resource(api.EC2NodeClassGVR()).Patch(ctx, "chaos", types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
		return "another tag of the class", err
	}
	return "", fmt.Errorf("nothing is known of %q", h.Kind)
}

// strike disturbs one spot instance.
func (r *run) strike(h Disturbance) (string, error) {
	spot := slices.DeleteFunc(r.world.EC2.Instances(), func(i ec2.Instance) bool {
		return i.CapacityType != ec2.Spot || i.State != ec2.Running
	})
	if len(spot) == 0 {
		r.effects.missed(h.Kind)
		return "nothing: there is no spot instance", nil
	}
	id := spot[h.Draw%uint64(len(spot))].ID
	switch h.Kind {
	case Rebalance:
		return id, r.world.EC2.Rebalance(id)
	case Stop:
		return id, r.world.EC2.Stop(id)
	case Vanish:
		return id, r.world.EC2.Terminate(id)
	}
	return id, r.world.EC2.Interrupt(id, reclaimAfter)
}

// kill ends the process of a function when it is at work, at a varying point of its work.
func (r *run) kill(ctx context.Context, h Disturbance) string {
	name := functions()[h.Draw%uint64(len(functions()))]
	every := time.Duration(h.Amount%20+1) * time.Millisecond
	r.effects.later(ctx, h.Kind, killPatience, every, func() bool {
		killed := r.world.KillFunction(name)
		if killed {
			r.killed.Add(1)
		}
		return killed
	})
	return name
}

// moreRefused returns a function that reports whether EC2 has refused calls of an action with a code
// since now. The action is a pattern.
func (r *run) moreRefused(action, code string) func() bool {
	count := func() int {
		sum := 0
		for name, count := range r.world.CallsRefusedWith(code) {
			if action == "*" || name == "ec2:"+action {
				sum += count
			}
		}
		return sum
	}
	before := count()
	return func() bool { return count() > before }
}

// stopDisturbing ends all lasting disturbances.
func (r *run) stopDisturbing() error {
	r.world.EC2.SetChaos(ec2.Chaos{})
	r.world.EC2.Throttle("*", 0, 0)
	for _, action := range []string{
		"CreateFleet", "DescribeInstances", "TerminateInstances", "CreateTags", "CreateLaunchTemplate",
	} {
		r.world.EC2.Throttle(action, 0, 0)
		r.world.EC2.FailCalls(ec2.CallFailure{Action: action})
	}
	for _, name := range functions() {
		if err := r.world.SetClock(name, 0); err != nil {
			return err
		}
	}
	for _, name := range queues() {
		if err := r.world.DisturbQueue(name, 0, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

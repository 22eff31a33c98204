package nodeclaim

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestTheReasonOfAnEarlyEndIsShown(t *testing.T) {
	ended := func(reason string) Instance {
		made := instance("terminated")
		made.StateReason = reason
		return made
	}
	const key = "Client.InternalError: Client error on launch"
	for _, test := range []struct {
		name     string
		claim    *api.NodeClaim
		node     []*corev1.Node
		instance Instance
		says     []string // in the condition and in the event; nil for neither
	}{
		{"a volume's key", claim(), nil, ended(key), []string{key, "volumeKeys"}},
		{"a disabled key", claim(), nil, ended("Client.InvalidKMSKey.InvalidState: disabled"), []string{"volumeKeys"}},
		{"another reason", claim(), nil, ended("Server.InsufficientInstanceCapacity: none"), []string{"Capacity: none"}},
		{"interrupt deleted the claim first", claim(deleted(time.Second)), nil, ended(key), []string{key, "volumeKeys"}},
		{"no reason", claim(), nil, ended(""), nil},
		{"an instance that runs", claim(), nil, func() Instance {
			made := instance("running")
			made.StateReason = "pending"
			return made
		}(), nil},
		{"a node that has joined", claim(initialized), []*corev1.Node{node(joined, notReadyNode)}, ended(key), nil},
		{"Whittle itself ended the instance", claim(deleted(time.Second), told), nil,
			ended("Client.UserInitiatedShutdown: User initiated shutdown"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			outcome := Next(listed(view(test.claim, test.node...), test.instance), now)
			status := condition(outcome.Steps, api.ConditionTypeRegistered)
			if shown := status == "Unknown "+api.ReasonInstanceEnded; shown != (test.says != nil) {
				t.Errorf("the condition is %q", status)
			}
			if recorded := strings.Contains(events(outcome.Steps), api.ReasonInstanceEnded); recorded != (test.says != nil) {
				t.Errorf("the events are %q", events(outcome.Steps))
			}
			for _, part := range test.says {
				for _, step := range outcome.Steps {
					event, ok := step.(Record)
					if ok && event.Reason != api.EventReasonTerminated && !strings.Contains(event.Message, part) {
						t.Errorf("the event says %q, not %q", event.Message, part)
					}
				}
			}
			if strings.HasPrefix(actions(outcome.Steps), "delete claim") && test.says != nil {
				t.Error("the claim is deleted before it shows the reason")
			}
		})
	}
}

// TestALaunchThatTheClassSpoilsRefusesTheClass keeps a class whose volumes EC2 cannot make from
// launching and losing instances again and again.
func TestALaunchThatTheClassSpoilsRefusesTheClass(t *testing.T) {
	for _, test := range []struct {
		reason  string
		refuses bool
	}{
		{"Client.InternalError: Client error on launch", true},
		{"Client.InvalidKMSKey.InvalidState: the key is disabled", true},
		{"Client.InvalidSnapshot.NotFound: no such snapshot", true},
		{"Client.VolumeLimitExceeded: Volume limit exceeded", true},
		{"Client.UserInitiatedShutdown: User initiated shutdown", false},
		{"Client.InstanceInitiatedShutdown: Instance initiated shutdown", false},
		{"Server.InsufficientInstanceCapacity: none", false},
		{"Server.SpotInstanceTermination: Spot instance termination", false},
	} {
		made := instance("terminated")
		made.StateReason = test.reason
		for name, ended := range map[string]*api.NodeClaim{
			"as it is": claim(classed), "interrupt deleted it first": claim(classed, deleted(time.Second)),
		} {
			steps := Next(listed(view(ended), made), now).Steps
			refusal, first := steps[0].(RefuseClass)
			if first != test.refuses {
				t.Errorf("%s, %s: the first step is %#v", test.reason, name, steps[0])
			}
			if test.refuses && (refusal.Class != "default" || !strings.Contains(refusal.Message, test.reason)) {
				t.Errorf("%s, %s: %#v", test.reason, name, refusal)
			}
		}
	}
}

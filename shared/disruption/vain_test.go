package disruption_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// because gives the drift of the node its reason and message.
func driftedBecause(reason, message string, since time.Duration) func(*disruption.Node) {
	return func(n *disruption.Node) {
		condition := api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeDrifted)
		condition.Reason, condition.Message = reason, message
		condition.LastTransitionTime = metav1.NewTime(monday.Add(-since))
	}
}

// TestADriftThatComesBackStopsAfterTheFirstReplacement has a tool that takes a security group from each new
// instance. The first replacement has the drift that it was made for.
func TestADriftThatComesBackStopsAfterTheFirstReplacement(t *testing.T) {
	const lacks = "the instance has the security groups sg-a, and ec2nodeclass \"default\" selects sg-a, sg-b"
	first := drifted("first", time.Hour, occupied, driftedBecause(api.ReasonSecurityGroupDrift, lacks, time.Hour))
	made := disruption.Replacement(api.NodeClaim{}, []*api.NodeClaim{first.Claim}, 0, monday)
	for name, test := range map[string]struct {
		reason, message string
		age, since      time.Duration
		replaced        int
		notice          bool
	}{
		"the same drift":               {api.ReasonSecurityGroupDrift, lacks, 10 * time.Minute, 5 * time.Minute, 0, true},
		"the same drift, months later": {api.ReasonSecurityGroupDrift, lacks, 90 * 24 * time.Hour, 5 * time.Minute, 2, false},
		"another drift":                {api.ReasonAMIDrift, "the node runs image ami-1", 10 * time.Minute, 5 * time.Minute, 2, false},
		"the same reason, and another cause": {api.ReasonSecurityGroupDrift, strings.ReplaceAll(lacks, "sg-b", "sg-c"),
			10 * time.Minute, 5 * time.Minute, 2, false},
		"a new template": {api.ReasonNodePoolDrifted, "spec.template has changed", 10 * time.Minute, 5 * time.Minute, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			replacement := drifted("replacement", time.Hour, occupied, driftedBecause(test.reason, test.message, test.since))
			replacement.Claim.CreationTimestamp = metav1.NewTime(monday.Add(-test.age))
			replacement.Claim.Annotations = made.Annotations
			second := drifted("second", time.Hour, occupied, driftedBecause(api.ReasonSecurityGroupDrift, lacks, time.Hour))
			s := &disruption.Cluster{Pools: []api.NodePool{pool("default", "0s", "100%")},
				Nodes: []disruption.Node{replacement, second}}
			chosen, notices := disruption.Candidates(s, monday)
			if len(chosen) != test.replaced || (len(notices) > 0) != test.notice {
				t.Errorf("%d nodes are replaced, want %d; notices %+v", len(chosen), test.replaced, notices)
			}
			if test.notice && !strings.Contains(notices[0].Message, `nodeclaim "replacement"`) {
				t.Errorf("notice %q", notices[0].Message)
			}
		})
	}
}

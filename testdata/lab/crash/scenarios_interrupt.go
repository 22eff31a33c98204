package crash

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func interruptScenarios() []Scenario {
	occupied := func(s *stage) {
		s.readyClass()
		s.pool(nil)
		s.node("old")
		s.pods("guest", 2, "1500m")
	}
	// reported lets EC2 do something to the node's instance and send the event about it.
	reported := func(
		act func(*ec2.Service, string) error, detail func(s *stage, id string) events.Detail,
	) func(*stage) any {
		return func(s *stage) any {
			id := s.only().ID
			if act != nil {
				s.try(act(s.world.account.ec2, id))
			}
			return eventOf(s.world, detail(s, id))
		}
	}
	recommendation := func(_ *stage, id string) events.Detail { return &events.RebalanceRecommendation{InstanceID: id} }
	change := func(ahead time.Duration, status events.HealthStatus) func(*stage, string) events.Detail {
		return func(s *stage, id string) events.Detail {
			return &events.ScheduledChange{
				InstanceIDs: []string{id}, Status: status, Code: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", EventARN: "arn:change",
				StartTime: s.world.now().Add(ahead), Page: 1, TotalPages: 1,
			}
		}
	}
	moving := []string{"provision", "lifecycle"}
	return []Scenario{
		{
			Function: "interrupt", Name: "a spot warning", Launches: 1, Ticked: moving, Done: replaced, Arrange: occupied,
			Event: reported(nil, func(_ *stage, id string) events.Detail {
				return &events.SpotInterruption{InstanceID: id, Action: events.ActionTerminate}
			}),
		},
		{
			Function: "interrupt", Name: "a spot warning, while other offerings are unavailable", Launches: 1, Ticked: moving,
			Done: replaced,
			Arrange: func(s *stage) {
				occupied(s)
				s.unavailable()
			},
			Event: reported(nil, func(_ *stage, id string) events.Detail {
				return &events.SpotInterruption{InstanceID: id, Action: events.ActionTerminate}
			}),
		},
		{
			Function: "interrupt", Name: "an instance that has stopped", Launches: 1, Ticked: moving, Done: replaced,
			Arrange: occupied, IgnoresBudgets: true,
			Event: reported((*ec2.Service).Stop, func(_ *stage, id string) events.Detail {
				return &events.StateChange{InstanceID: id, State: events.StateStopped}
			}),
		},
		{
			Function: "interrupt", Name: "an instance that has ended", Launches: 1, Ticked: moving, Done: replaced,
			Arrange: occupied, IgnoresBudgets: true,
			Event: reported((*ec2.Service).Terminate, func(_ *stage, id string) events.Detail {
				return &events.StateChange{InstanceID: id, State: events.StateTerminated}
			}),
		},
		{
			Function: "interrupt", Name: "a rebalance recommendation", Ticked: []string{},
			Done: annotated(disruption.RebalanceRecommendedAnnotationKey), Arrange: occupied,
			Event: reported(nil, recommendation),
		},
		{
			Function: "interrupt", Name: "an event during standby", Ticked: []string{},
			Done: annotated(disruption.RebalanceRecommendedAnnotationKey),
			Arrange: func(s *stage) {
				occupied(s)
				s.karpenter()
			},
			Event: reported(nil, recommendation),
		},
		{
			Function: "interrupt", Name: "a change weeks ahead", Ticked: []string{},
			Done: annotated(disruption.DepartsAtAnnotationKey), Arrange: occupied,
			Event: reported(nil, change(14*24*time.Hour, events.HealthStatusUpcoming)),
		},
		{
			Function: "interrupt", Name: "a change within minutes", Launches: 1, Ticked: moving, Done: replaced,
			Arrange: occupied,
			Event:   reported(nil, change(10*time.Minute, events.HealthStatusOpen)),
		},
	}
}

// karpenter makes a Karpenter that stopped a moment ago: its pod and its Lease, which ends after some
// rounds.
func (s *stage) karpenter() {
	const name = "karpenter"
	core := s.world.core
	_, err := core.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Create(s.ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) && !s.try(err) {
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		ServiceAccountName: name, NodeName: "elsewhere", Containers: []corev1.Container{{Name: "controller", Image: name}},
	}}
	if _, err = core.CoreV1().Pods(metav1.NamespaceSystem).Create(s.ctx, pod, metav1.CreateOptions{}); !s.try(err) {
		return
	}
	holder, renewed := name+"_1", metav1.NewMicroTime(s.world.now())
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.KarpenterLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}
	_, err = core.CoordinationV1().Leases(metav1.NamespaceSystem).Create(s.ctx, lease, metav1.CreateOptions{})
	s.try(err)
}

// only returns the instance that the scenario began with.
func (s *stage) only() ec2.Instance {
	if all := s.world.account.ec2.Instances(); s.err == nil && len(all) > 0 {
		return all[0]
	}
	return ec2.Instance{}
}

// replaced is the end at which the node "old" is gone and its pods run on another node.
func replaced(t *trial, s *state) string {
	for i := range s.claims {
		if s.claims[i].Name == "old" {
			return "nodeclaim old is there still"
		}
	}
	return running(1)(t, s)
}

// annotated is the end at which the claim "old" has an annotation and goes on.
func annotated(key string) func(*trial, *state) string {
	return func(t *trial, s *state) string {
		if len(s.claims) != 1 || s.claims[0].Annotations[key] == "" {
			return "the nodeclaim has not the annotation " + key
		}
		if s.claims[0].Annotations[api.NodeClaimTerminationTimestampAnnotationKey] != "" {
			return "the nodeclaim is to end"
		}
		return running(1)(t, s)
	}
}

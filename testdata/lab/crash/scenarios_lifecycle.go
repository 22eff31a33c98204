package crash

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func lifecycleScenarios() []Scenario {
	// ending deletes the first claim, as a person does.
	ending := func(s *stage) any {
		claims, err := s.world.client.NodeClaims(s.ctx)
		if s.try(err) {
			s.delete(&claims[0])
		}
		return tickFor(s.world)
	}
	endingTwo := func(s *stage) any {
		claims, err := s.world.client.NodeClaims(s.ctx)
		if s.try(err) {
			s.delete(&claims[0])
			s.delete(&claims[1])
		}
		return tickFor(s.world)
	}
	alone := []string{"lifecycle"}
	return []Scenario{
		{
			Function: "lifecycle", Name: "a node joins", Ticked: alone, Done: claims(1),
			Arrange: func(s *stage) {
				s.pool(nil)
				// Its pod is nominated, and gets the node from the scheduler.
				pod := s.first(s.pods("guest", 1, "1500m"))
				s.launched("new", func(claim *api.NodeClaim) {
					claim.Annotations[api.NominatedPodsAnnotationKey] = string(pod.UID)
					claim.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
				})
			},
		},
		{
			// The node is reserved, gets its pods, and takes others only then.
			Function: "lifecycle", Name: "a node joins and gets its pods", Ticked: alone, Done: claims(1),
			Arrange: func(s *stage) {
				s.pool(nil)
				s.expecting("new", s.pods("guest", 2, "700m"))
			},
		},
		{
			// The scheduler finds another node for one of the pods, before or after it is read.
			Function: "lifecycle", Name: "a node joins beside the scheduler", Ticked: alone, Done: claims(2),
			Arrange: func(s *stage) {
				s.pool(nil)
				s.node("spare")
				s.pods("resident", 1, "1100m")
				s.expecting("new", s.pods("guest", 2, "700m"))
			},
		},
		{
			// The pods move to the other node one at a time.
			Function: "lifecycle", Name: "a drain under a budget", Ticked: alone, Done: replaced, Event: ending,
			Arrange: func(s *stage) {
				s.learned()
				s.pool(nil)
				s.node("old")
				s.node("spare")
				s.pods("guest", 2, "1500m")
				s.budget("guest", 1)
			},
		},
		{
			// One list has the pods of both nodes.
			Function: "lifecycle", Name: "drains of two nodes", Ticked: alone, Done: claims(1), Event: endingTwo,
			Arrange: func(s *stage) {
				s.learned()
				s.pool(nil)
				s.node("old")
				s.node("other")
				s.node("spare")
				s.pods("guest", 2, "700m")
			},
		},
		{
			Function: "lifecycle", Name: "a drain that comes to its hard end", Ticked: alone, Done: claims(0), Event: ending,
			IgnoresBudgets: true,
			Arrange: func(s *stage) {
				s.pool(nil)
				s.node("old", func(claim *api.NodeClaim) {
					claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: 20 * time.Second}
				})
				s.pods("guest", 1, "1500m").grace = 60
				s.budget("guest", 1)
			},
		},
		{
			// The volume stays attached, because its pod stays, as those of daemon sets do.
			Function: "lifecycle", Name: "a drain of pods with volumes", Ticked: alone, Done: claims(0), Event: ending,
			Arrange: func(s *stage) {
				s.pool(nil)
				_, instance := s.node("old")
				s.volumeClaim("kept", "volume-kept")
				s.attach("volume-kept", instance)
				s.pods("daemon", 1, "1").shape = func(pod *corev1.Pod) {
					mounting("kept")(pod)
					pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				}
			},
		},
		{
			Function: "lifecycle", Name: "a node expires", Ticked: alone, Done: claims(0),
			Arrange: func(s *stage) {
				s.pool(nil)
				s.node("old", func(claim *api.NodeClaim) {
					expires := time.Second
					claim.Spec.ExpireAfter.Duration = &expires
				})
				s.later(2 * time.Second) // over for certain: the API server writes whole seconds
			},
		},
		{
			Function: "lifecycle", Name: "a claim whose launch was not written down is deleted", Ticked: alone, Done: claims(0),
			Event: ending, Step: 10 * time.Second,
			Arrange: func(s *stage) {
				s.pool(nil)
				s.launch(api.CapacityTypeSpot, map[string]string{api.NodeClaimTagKey: "lost"})
				s.claim("lost")
			},
		},
		{
			Function: "lifecycle", Name: "instances without claims, and claims without instances", Ticked: alone,
			Done: claims(0),
			Arrange: func(s *stage) {
				s.pool(nil)
				s.launch(api.CapacityTypeSpot, map[string]string{api.NodeClaimTagKey: "nobody"})
				_, gone := s.node("bereft")
				s.try(s.world.account.ec2.Terminate(gone.ID))
				s.later(time.Minute) // EC2's list is sure by then
			},
		},
		{
			Function: "lifecycle", Name: "an instance that has stopped", Ticked: alone, Done: claims(0), IgnoresBudgets: true,
			Arrange: func(s *stage) {
				s.pool(nil)
				s.node("old")
			},
			Event: func(s *stage) any {
				s.try((*ec2.Service).Stop(s.world.account.ec2, s.only().ID))
				return tickFor(s.world)
			},
		},
	}
}

// learned stores the capacity of nodes of another type.
func (s *stage) learned() {
	if s.err != nil {
		return
	}
	known := &catalog.Learned{}
	known.Observe("m5.large", "ami-other", 8<<30, s.world.now())
	_, err := inventory.PutLearned(s.ctx, s.world.client, known, s.world.now())
	s.try(err)
}

// later advances the clock before the scenario begins.
func (s *stage) later(d time.Duration) {
	if s.err == nil {
		s.try(s.world.pass(d))
	}
}

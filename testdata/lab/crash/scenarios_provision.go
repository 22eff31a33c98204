package crash

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// together is the number of equal nodes that one call launches.
const together = 3

func provisionScenarios() []Scenario {
	lone := func(s *stage) {
		s.readyClass()
		s.pool(nil)
		s.pods("lone", 1, "3")
	}
	// Disrupt would find nothing to remove.
	launching := []string{"provision", "lifecycle"}
	return []Scenario{
		{
			Function: "provision", Name: "a batch of equal nodes, with a class that is new", Launches: together,
			Done: running(together),
			Arrange: func(s *stage) {
				s.class(nil)
				s.pool(nil)
				s.pods("equal", together, "14")
			},
		},
		{
			// The repeated batch is then a different request with the same token.
			Function: "provision", Ticked: launching, Name: "a batch of equal nodes, and spot is short when it is gone on with",
			Launches: together, Done: running(together),
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(nil)
				s.pods("equal", together, "14")
			},
			OnFirstKill: func(s *stage) {
				marks := &catalog.Unavailable{}
				marks.LeaveOut(catalog.CapacityTypeKey(api.CapacityTypeSpot), s.world.now().Add(time.Hour))
				s.try(inventory.MarkUnavailable(s.ctx, s.world.client, marks, s.world.now()))
			},
		},
		{
			Function: "provision", Ticked: launching, Name: "claims that an earlier pass has written", Launches: 2,
			Done: running(2),
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(nil)
				for i := range 2 {
					s.claim(fmt.Sprintf("earlier-%d", i), func(claim *api.NodeClaim) {
						claim.Annotations[api.BatchAnnotationKey] = fmt.Sprintf("earlier/2/%d", i)
					})
				}
				s.pods("waiting", 2, "14")
			},
		},
		{
			Function: "provision", Ticked: launching, Name: "no room on spot", Launches: 1, Done: running(1),
			Arrange: func(s *stage) {
				s.world.account.ec2.Starve(ec2.Starvation{CapacityType: "spot"})
				s.unavailable()
				lone(s)
			},
		},
		{
			// The repeated call names no instance, so that provision has to find it.
			Function: "provision", Ticked: launching, Name: "a launch whose answer is lost", Launches: 1, Done: running(1),
			Loses: "ec2:CreateFleet", Arrange: lone,
		},
		{
			Function: "provision", Ticked: launching, Name: "a pod with a volume and with needs in other namespaces",
			Launches: 1, Done: running(1),
			Arrange: func(s *stage) {
				s.classOfPlaces()
				s.pool(nil)
				s.overlay()
				s.volumeClaim("data", "")
				s.pods("careful", 1, "3").shape = apart("data")
			},
		},
		{
			Function: "provision", Ticked: launching, Name: "a launch that EC2 refuses once", Launches: 1, Done: running(1),
			Arrange: func(s *stage) {
				lone(s)
				s.world.account.ec2.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: "InvalidParameterValue", Times: 1})
			},
		},
		{
			Function: "provision", Ticked: launching, Name: "a pool that gets its number of nodes", Launches: 2, Done: claims(2),
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(map[string]any{"replicas": int64(2)})
			},
		},
		{
			Function: "provision", Ticked: launching, Name: "a pool that has too many nodes", Done: claims(1),
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(map[string]any{"replicas": int64(1)})
				s.node("one")
				s.node("two")
			},
		},
	}
}

// overlay creates a NodeOverlay that changes prices a little.
func (s *stage) overlay() {
	if s.err != nil {
		return
	}
	made := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.OverlayAPIVersion, "kind": "NodeOverlay", "metadata": map[string]any{"name": "discount"},
		"spec": map[string]any{
			"requirements": []any{
				map[string]any{"key": api.CapacityTypeLabelKey, "operator": "In", "values": []any{api.CapacityTypeSpot}},
			},
			"priceAdjustment": "-1%",
		},
	}}
	_, err := s.world.objects.Resource(overlays()).Create(s.ctx, made, metav1.CreateOptions{})
	s.try(err)
}

// running is the end at which a number of nodes are ready and every pod runs on one of them.
func running(nodes int) func(*trial, *state) string {
	return func(t *trial, s *state) string {
		if lacks := claims(nodes)(t, s); lacks != "" {
			return lacks
		}
		for i := range s.pods {
			if !s.healthy(&s.pods[i]) {
				return fmt.Sprintf("pod %s does not run", s.pods[i].Name)
			}
		}
		return ""
	}
}

// claims is the end at which a number of nodes exist, all of them ready.
func claims(nodes int) func(*trial, *state) string {
	return func(_ *trial, s *state) string {
		if len(s.claims) != nodes {
			return fmt.Sprintf("there are %d nodeclaims, want %d", len(s.claims), nodes)
		}
		for i := range s.claims {
			if !ready(&s.claims[i]) {
				return fmt.Sprintf("nodeclaim %s is not ready", s.claims[i].Name)
			}
		}
		return ""
	}
}

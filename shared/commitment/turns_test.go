package commitment_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/commitment"
)

// node is an instance that a cluster has launched for a unit of the stock.
type node struct {
	cluster  int
	at       time.Time // of the claim
	launched time.Time
	claim    api.NodeClaim
}

// account has six clusters that share Reserved Instances. EC2 lists an instance some seconds after
// its launch.
type account struct {
	random   *rand.Rand
	facts    commitment.Facts
	nodes    []node
	outside  int
	readings []*commitment.Reading
}

func name(cluster int) string { return fmt.Sprintf("cluster-%d", cluster) }

// count is what the cluster's lifecycle counts at the time.
func (a *account) count(cluster int, at time.Time) {
	var instances []commitment.Instance
	for i := range a.outside {
		instances = append(instances, commitment.Instance{ID: fmt.Sprint("o-", i), Type: "m5.large", Zone: "a"})
	}
	for c := range a.readings { // each has a node already, which nothing pays for
		instances = append(instances, commitment.Instance{ID: fmt.Sprint("c-", c), Type: "c5.large", Cluster: name(c)})
	}
	for i := range a.nodes {
		if n := &a.nodes[i]; at.Sub(n.launched) > time.Duration(a.random.IntN(60))*time.Second {
			instances = append(instances, commitment.Instance{
				ID: fmt.Sprint("i-", i), Type: "m5.large", Zone: "a", Cluster: name(n.cluster), Own: n.cluster == cluster,
			})
		}
	}
	a.readings[cluster] = &commitment.Reading{Time: at, Share: 1, Applied: commitment.Apply(a.facts, instances, at)}
	a.readings[cluster].Among(name(cluster), instances)
}

// buy lets the cluster launch as many nodes as it wants of what is left for it.
func (a *account) buy(cluster int, at time.Time, wanted int) {
	var claims []api.NodeClaim
	for i := range a.nodes {
		if a.nodes[i].cluster == cluster {
			claims = append(claims, a.nodes[i].claim)
		}
	}
	for _, cover := range a.readings[cluster].Covers(claims, at) {
		for range min(wanted, cover.Left) {
			made := node{cluster: cluster, at: at, launched: at.Add(time.Duration(a.random.IntN(45)) * time.Second)}
			made.claim.CreationTimestamp = metav1.NewTime(at)
			made.claim.Annotations = map[string]string{
				api.CommitmentAnnotationKey: api.CommitmentText(cover.Commitment, 1),
			}
			made.claim.Status.Conditions = []metav1.Condition{{
				Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(made.launched),
			}}
			a.nodes = append(a.nodes, made)
		}
	}
}

// TestSixClustersSpendNoUnitTwice lets six clusters launch at any time, as much as they may.
// Nothing is spent twice at any time, and all of it is used in the end.
func TestSixClustersSpendNoUnitTwice(t *testing.T) {
	const clusters, hours = 6, 5
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 0))
		total := 1 + random.IntN(40)
		a := &account{
			random: random, outside: random.IntN(total), readings: make([]*commitment.Reading, clusters),
			facts: commitment.Facts{Reserved: []commitment.ReservedInstance{
				held(commitment.ReservedInstance{ID: "a", InstanceType: "m5.large", Count: total, Zone: "a"}),
			}},
		}
		offsets := random.Perm(60)
		begin := now.Add(time.Duration(random.IntN(3600)) * time.Second)
		for second := range hours * 3600 {
			at := begin.Add(time.Duration(second) * time.Second)
			for c := range clusters {
				if second%60 == offsets[c] {
					a.count(c, at)
				}
				// All begin together. Each buys again and again, most of all where turns change.
				turning := (at.Unix()+75)%600 < 150
				if a.readings[c] != nil && (second%600 == 300 || random.IntN(40) == 0 || turning && random.IntN(4) == 0) {
					a.buy(c, at, 1+random.IntN(20))
				}
			}
			if used := a.outside + len(a.nodes); used > total {
				t.Fatalf("seed %d: %d nodes for %d units after %d s", seed, used, total, second)
			}
		}
		if used := a.outside + len(a.nodes); used < total {
			t.Errorf("seed %d: %d of %d units are used after %d hours", seed, used, total, hours)
		}
	}
}

// TestOneClusterTakesNoTurns has all that is left at any time, and so has one with its own part.
func TestOneClusterTakesNoTurns(t *testing.T) {
	facts := commitment.Facts{Reserved: []commitment.ReservedInstance{
		held(commitment.ReservedInstance{ID: "a", InstanceType: "m5.large", Count: 8, Zone: "a"}),
	}}
	alone := []commitment.Instance{{ID: "i-1", Type: "c5.large", Cluster: "one", Own: true}}
	shared := append(alone, commitment.Instance{ID: "i-2", Type: "c5.large", Cluster: "two"})
	for minute := range 40 {
		at := now.Add(time.Duration(minute) * time.Minute)
		for share, instances := range map[float64][]commitment.Instance{1: alone, 0.5: shared} {
			r := &commitment.Reading{Time: at, Share: share, Applied: commitment.Apply(facts, instances, at)}
			r.Among("one", instances)
			if covers := r.Covers(nil, at); len(covers) != 1 || covers[0].Left != int(8*share) {
				t.Fatalf("after %d minutes a share of %v leaves %+v", minute, share, covers)
			}
		}
	}
}

package registration_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/registration"
)

// noon is Monday, 2 March 2026, 12:00 UTC.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// poolWith is a pool whose condition remembers the outcomes.
func poolWith(outcomes ...registration.Outcome) *api.NodePool {
	launches := registration.Launches{Since: noon.Add(-24 * time.Hour)}
	launches.Add(outcomes...)
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 3}}
	pool.Status.Conditions = []metav1.Condition{{
		Type: api.ConditionTypeNodeRegistrationHealthy, Message: launches.String(), ObservedGeneration: 3,
	}}
	pool.Status.NodeClassObservedGeneration = 2
	return pool
}

// ago is an outcome of that many minutes before noon.
func ago(minutes int, result registration.Result) registration.Outcome {
	return registration.Outcome{
		Claim: fmt.Sprint("claim-", minutes), Result: result, At: noon.Add(-time.Duration(minutes) * time.Minute),
	}
}

func claim(name string, change ...func(*api.NodeClaim)) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{api.NodePoolLabelKey: "default"}}}
	for _, f := range change {
		f(&made)
	}
	return made
}

func TestBrake(t *testing.T) {
	const failed, registered = registration.Failed, registration.Registered
	joined := func(c *api.NodeClaim) { c.Status.NodeName = "node" }
	deleted := func(c *api.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: noon} }
	other := func(c *api.NodeClaim) { c.Labels[api.NodePoolLabelKey] = "other" }
	changed := poolWith(ago(2, failed), ago(1, failed))
	changed.Generation++
	foreign := poolWith()
	foreign.Status.Conditions[0].Message = "Failed to register node"
	tests := []struct {
		name   string
		pool   *api.NodePool
		class  *api.EC2NodeClass
		claims []api.NodeClaim
		closed string
		one    bool
	}{
		{name: "no condition", pool: &api.NodePool{}},
		{name: "a message of Karpenter", pool: foreign},
		{name: "one node that has not joined", pool: poolWith(ago(1, failed))},
		{name: "two in a row, a moment ago", pool: poolWith(ago(2, failed), ago(1, failed)),
			closed: `its last 2 nodes have not joined the cluster, such as that of nodeclaim "claim-1"; ` +
				`the next node is not before 2026-03-02T12:09:00Z; the instances' console output and system log say why: ` +
				`change the EC2NodeClass or the NodePool, which ends the wait`},
		{name: "two in a row, a while ago", pool: poolWith(ago(18, failed), ago(10, failed)), one: true},
		{name: "a node between them", pool: poolWith(ago(3, failed), ago(2, registered), ago(1, failed))},
		{name: "a node after them", pool: poolWith(ago(3, failed), ago(2, failed), ago(1, registered))},
		{name: "claims without an instance", pool: poolWith(ago(2, registration.Unlaunched), ago(1, registration.Unlaunched))},
		{name: "an hour of them, and half an hour of pause",
			pool:   poolWith(ago(95, failed), ago(30, failed)),
			closed: `its last 2 nodes have not joined the cluster, such as that of nodeclaim "claim-30"; the next node is not before 2026-03-02T12:15:00Z`},
		{name: "an hour of them, and a longer pause", pool: poolWith(ago(110, failed), ago(45, failed)), one: true},
		{name: "the pool was changed", pool: changed},
		{name: "the class was changed", pool: poolWith(ago(2, failed), ago(1, failed)),
			class: &api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Generation: 3}}},
		{name: "the class is the same", pool: poolWith(ago(18, failed), ago(10, failed)), one: true,
			class: &api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Generation: 2}}},
		{name: "one under way", pool: poolWith(ago(18, failed), ago(10, failed)),
			claims: []api.NodeClaim{claim("here", joined), claim("gone", deleted), claim("elsewhere", other), claim("next")},
			closed: `its last 2 nodes have not joined the cluster, such as that of nodeclaim "claim-10"; it waits for the node of nodeclaim "next"`},
		{name: "none under way", pool: poolWith(ago(18, failed), ago(10, failed)), one: true,
			claims: []api.NodeClaim{claim("here", joined), claim("gone", deleted), claim("elsewhere", other)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := registration.BrakeOf(test.pool, test.class, test.claims, noon)
			if closed := got.Closed[:min(len(got.Closed), len(test.closed))]; closed != test.closed ||
				test.closed == "" && got.Closed != "" || got.OneNode != test.one {
				t.Errorf("brake %+v", got)
			}
		})
	}
}

// TestNodesThatNeverJoinAreFew asks for nodes all day. None joins, and each is given up after a
// quarter of an hour.
func TestNodesThatNeverJoinAreFew(t *testing.T) {
	var claims []api.NodeClaim
	var bought []time.Time
	pool := poolWith()
	launches := registration.Launches{Since: noon}
	for now := noon; now.Before(noon.Add(24 * time.Hour)); now = now.Add(20 * time.Second) {
		if len(claims) > 0 && now.Sub(bought[len(bought)-1]) >= 15*time.Minute {
			launches.Add(registration.Outcome{Claim: claims[0].Name, Result: registration.Failed, At: now})
			pool.Status.Conditions[0].Message, claims = launches.String(), nil
		}
		brake := registration.BrakeOf(pool, nil, claims, now)
		if brake.Closed == "" && (brake.OneNode || len(claims) == 0) {
			claims, bought = []api.NodeClaim{claim(fmt.Sprint(len(bought)))}, append(bought, now)
		}
	}
	for i := 3; i < len(bought); i++ {
		if bought[i].Sub(bought[i-3]) < time.Hour {
			t.Errorf("four nodes from %s to %s", bought[i-3], bought[i])
		}
	}
	if len(bought) < 20 || len(bought) > 30 {
		t.Errorf("%d nodes in a day, want one for each hour", len(bought))
	}
}

func TestOneMoreNode(t *testing.T) {
	tests := []struct {
		limits api.Limits
		want   string
	}{
		{nil, "map[nodes:6]"},
		{api.Limits{api.ResourceNodes: resource.MustParse("9"), corev1.ResourceCPU: resource.MustParse("4")}, "map[cpu:4 nodes:6]"},
		{api.Limits{api.ResourceNodes: resource.MustParse("5")}, "map[nodes:5]"},
	}
	for _, test := range tests {
		got := map[string]string{}
		for name, limit := range registration.OneMore(test.limits, 5) {
			got[string(name)] = limit.String()
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("limits %v become %v, want %s", test.limits, got, test.want)
		}
	}
}

func TestAPoolIsUnhealthyFromTwoOfItsLastFourLaunchesOn(t *testing.T) {
	const failed, unlaunched, registered = registration.Failed, registration.Unlaunched, registration.Registered
	for _, test := range []struct {
		results []registration.Result // the newest last
		want    bool
	}{
		{nil, false},
		{[]registration.Result{failed}, false},
		{[]registration.Result{failed, unlaunched}, true},
		{[]registration.Result{failed, registered, registered, failed}, true},
		{[]registration.Result{failed, registered, registered, registered, failed}, false},
	} {
		launches := registration.Launches{Since: noon.Add(-time.Hour)}
		for i, result := range test.results {
			launches.Add(ago(30-i, result))
		}
		if read, ok := registration.Parse(launches.String()); !ok || read.Unhealthy() != test.want {
			t.Errorf("after %v it is unhealthy: %t", test.results, read.Unhealthy())
		}
	}
}

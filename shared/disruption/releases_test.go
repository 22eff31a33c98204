package disruption_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/release"
)

// released is a cluster of the nodes in which the pool's release was seen an hour ago.
func released(pool api.NodePool, record release.Record, orders string, nodes ...disruption.Node) *disruption.Cluster {
	record.Release, record.Since = "b", monday.Add(-time.Hour)
	s := &disruption.Cluster{Pools: []api.NodePool{pool}, Nodes: nodes}
	data := map[string]string{release.KeyOf(pool.Name): orders}
	if orders == "" {
		data = nil
	}
	s.Releases = s.JudgeReleases(map[string]release.Record{pool.Name: record}, release.ReadOrders(data), monday)
	return s
}

func ofZone(zone string) func(*disruption.Node) {
	return func(n *disruption.Node) { n.Claim.Labels[corev1.LabelTopologyZone] = zone }
}

// fresh is a node that the release has. It was ready some minutes ago.
func fresh(name, zone string, minutes time.Duration) disruption.Node {
	return node(name, 0, annotated(disruption.ReplacesAnnotationKey, "gone"), ofZone(zone), func(n *disruption.Node) {
		n.Claim.Status.Conditions[0].LastTransitionTime = metav1.NewTime(monday.Add(-minutes * time.Minute))
	})
}

func alsoDrifted(n *disruption.Node) {
	n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, metav1.Condition{
		Type: api.ConditionTypeDrifted, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(monday.Add(-time.Hour)),
	})
}

func TestDriftGoesByTheStagesOfItsRelease(t *testing.T) {
	halted := release.Record{Halted: monday.Add(-time.Minute), Why: "bad"}
	three := []disruption.Node{
		drifted("a", 3*time.Minute, occupied, ofZone("x")), drifted("b", 2*time.Minute, occupied, ofZone("y")),
		drifted("c", time.Minute, occupied, ofZone("y")),
	}
	with := func(more ...disruption.Node) []disruption.Node { return append(more, three...) }
	expiring := drifted("old", time.Minute, occupied, expires(time.Second))
	for _, test := range []struct {
		name, chosen, notice string
		pool                 api.NodePool
		record               release.Record
		orders               string
		nodes                []disruption.Node
		passing              bool
	}{
		{name: "one node of the pool", pool: poolOf("100%"), nodes: with(), chosen: "a Drifted",
			notice: "No allowed disruptions for disruption reason Drifted: its release waits for the first node", passing: true},
		{name: "none while it bakes", pool: poolOf("100%"), nodes: with(fresh("new", "x", 4)),
			notice: "its release bakes until Mon 2 Mar 12:06 UTC on the first node", passing: true},
		{name: "one in each further zone", pool: poolOf("100%"), nodes: with(fresh("new", "x", 11)), chosen: "b Drifted",
			notice: "its release waits for the first nodes of further zones", passing: true},
		{name: "then as the budgets do", pool: poolOf("2"), nodes: with(fresh("new", "x", 30), fresh("more", "y", 11)),
			chosen: "a Drifted, b Drifted", notice: "which nodes that are leaving use up", passing: true},
		{name: "off", pool: poolOf("100%", api.ReleaseAnnotationKey, "off"), nodes: with(),
			chosen: "a Drifted, b Drifted, c Drifted"},
		{name: "halted", pool: poolOf("100%"), record: halted, nodes: with(),
			notice: "its release halted at Mon 2 Mar 11:59 UTC: bad"},
		{name: "continued", pool: poolOf("100%"), record: halted, orders: "order: continue\nwho: al", nodes: with(),
			chosen: "a Drifted, b Drifted, c Drifted"},
		{name: "aborted", pool: poolOf("100%"), orders: "order: abort\nwho: al", nodes: with(),
			notice: "its release is aborted by al"},
		{name: "a halt keeps no expired node", pool: poolOf("100%", api.ExpireWithinBudgetsAnnotationKey, "true"),
			record: halted, nodes: []disruption.Node{expiring}, chosen: "old Expired"},
		{name: "nor what AWS takes", pool: poolOf("100%"), record: halted,
			nodes: []disruption.Node{departing("old", 24*time.Hour, alsoDrifted)}, chosen: "old ScheduledChange"},
	} {
		t.Run(test.name, func(t *testing.T) {
			chosen, notices := disruption.Candidates(released(test.pool, test.record, test.orders, test.nodes...), monday)
			var all []string
			for _, candidate := range chosen {
				all = append(all, candidate.Node.Claim.Name+" "+string(candidate.Reason))
			}
			if got := strings.Join(all, ", "); got != test.chosen {
				t.Errorf("chosen are %q, want %q", got, test.chosen)
			}
			if (len(notices) == 1) != (test.notice != "") {
				t.Fatalf("notices %+v", notices)
			}
			if test.notice != "" && (!strings.HasSuffix(notices[0].Message, test.notice) || notices[0].Passing != test.passing ||
				notices[0].Pool == nil) {
				t.Errorf("notice %+v", notices[0])
			}
		})
	}
}

func TestAHaltTakesBackWhatHasBegun(t *testing.T) {
	under := func(record release.Record, reason api.DisruptionReason) *disruption.Cluster {
		old := drifted("old", time.Minute, annotated(disruption.ReplacedByAnnotationKey, "ready,booting"),
			begunAgo(time.Minute), because(reason))
		booting := node("booting", 0, annotated(disruption.ReplacesAnnotationKey, "old"))
		booting.Claim.Status.Conditions, booting.Node = nil, nil
		booting.Claim.Status.ProviderID = "aws:///x/i-1"
		return released(poolOf("100%"), record, "",
			old, node("ready", 0, annotated(disruption.ReplacesAnnotationKey, "old")), booting)
	}
	halted := release.Record{Halted: monday.Add(-time.Minute), Why: "bad"}
	if r := disruption.Replacing(under(release.Record{}, api.DisruptionReasonDrifted), monday); len(r.RollBack) != 0 {
		t.Fatalf("without a halt %+v", r)
	}
	r := disruption.Replacing(under(halted, api.DisruptionReasonDrifted), monday)
	if len(r.RollBack) != 1 || r.RollBack[0].Why != "its release halted at Mon 2 Mar 11:59 UTC: bad" ||
		names(r.RollBack[0].Delete) != "booting" || len(r.Waiting)+len(r.Finish) != 0 {
		t.Errorf("%+v", r)
	}
	if r := disruption.Replacing(under(halted, api.DisruptionReasonUnhealthy), monday); len(r.RollBack) != 0 {
		t.Errorf("a repair is taken back: %+v", r)
	}
}

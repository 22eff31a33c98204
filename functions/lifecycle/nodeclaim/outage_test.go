package nodeclaim

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestTheFirstTickAfterAnOutageLooksBeforeItGivesUp has nobody look for an hour. Each time that is over by
// then is judged with the thing that it was for.
func TestTheFirstTickAfterAnOutageLooksBeforeItGivesUp(t *testing.T) {
	launchedLongAgo := with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)
	for _, test := range []struct {
		name string
		view View
		ends bool
	}{
		{"registration: the node has joined", view(claim(age(time.Hour), launchedLongAgo), node()), false},
		{"registration: no node has joined", view(claim(age(time.Hour), launchedLongAgo)), true},
		{"registration: the node has come back", view(vanished(time.Hour), node()), false},
		{"registration: the node has not come back", view(vanished(time.Hour)), true},
		{"registration: two nodes", view(claim(age(time.Hour), launchedLongAgo), node(), node()), true},
		{"launch: EC2 lists an instance of the claim", listed(view(claim(unlaunched, age(10*time.Minute))), instance("running")), false},
		{"launch: EC2 lists none", listed(view(claim(unlaunched, age(10*time.Minute)))), true},
		{"launch: provision never takes the instance", listed(view(claim(unlaunched, age(time.Hour))), instance("running")), true},
		{"launch: the instance ends", listed(view(claim(unlaunched, age(10*time.Minute))),
			instance(stateShuttingDown)), true},
		{"repair: the node was unhealthy, and is not", view(claim(age(time.Hour), initialized), node(joined)), false},
		{"repair: the node is unhealthy", unhealthy(view(claim(age(time.Hour), initialized), node(joined)), false), true},
		{"reboot: the node is back", view(ordered(time.Hour, "5m0s", issued(time.Hour)), node(joined, booted("boot-2"))), false},
	} {
		ends := false
		for _, step := range Next(test.view, now).Steps {
			_, deletes := step.(DeleteClaim)
			ends = ends || deletes
		}
		if ends != test.ends {
			t.Errorf("%s: ends %t, want %t", test.name, ends, test.ends)
		}
	}
}

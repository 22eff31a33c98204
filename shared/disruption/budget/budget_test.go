package budget_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
	"github.com/whittle-dev/whittle/shared/hours"
)

// monday is Monday, 2 March 2026, 12:00 UTC.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func always(nodes string, reasons ...api.DisruptionReason) api.Budget {
	return api.Budget{Nodes: nodes, Reasons: reasons}
}

func scheduled(nodes, schedule string, duration time.Duration) api.Budget {
	return api.Budget{Nodes: nodes, Schedule: &schedule, Duration: &metav1.Duration{Duration: duration}}
}

func TestAllowed(t *testing.T) {
	for _, test := range []struct {
		name    string
		budgets []api.Budget
		count   budget.PoolCount
		reason  api.DisruptionReason
		now     time.Time
		want    int
		wrong   string // the field that the error names
	}{
		{name: "no budget allows everything", count: budget.PoolCount{Nodes: 3}, want: budget.Unlimited},
		{
			name: "a percentage is rounded up", budgets: []api.Budget{always("10%")}, count: budget.PoolCount{Nodes: 1}, want: 1,
		},
		{
			name: "a percentage of eleven nodes is rounded up", budgets: []api.Budget{always("10%")},
			count: budget.PoolCount{Nodes: 11}, want: 2,
		},
		{
			name: "a percentage that needs no rounding", budgets: []api.Budget{always("10%")},
			count: budget.PoolCount{Nodes: 20}, want: 2,
		},
		{name: "nothing is a percentage of no nodes", budgets: []api.Budget{always("10%")}, want: 0},
		{name: "all of them", budgets: []api.Budget{always("100%")}, count: budget.PoolCount{Nodes: 7}, want: 7},
		{name: "a number is a number", budgets: []api.Budget{always("5")}, count: budget.PoolCount{Nodes: 2}, want: 5},
		{name: "zero closes the pool", budgets: []api.Budget{always("0")}, count: budget.PoolCount{Nodes: 9}, want: 0},
		{
			name: "nodes on their way out are taken off", budgets: []api.Budget{always("5")},
			count: budget.PoolCount{Nodes: 9, Disrupting: 3}, want: 2,
		},
		{
			name: "more on their way out than allowed leaves nothing", budgets: []api.Budget{always("2")},
			count: budget.PoolCount{Nodes: 9, Disrupting: 3}, want: 0,
		},
		{
			name: "the strictest budget counts", budgets: []api.Budget{always("5"), always("2"), always("50%")},
			count: budget.PoolCount{Nodes: 10}, want: 2,
		},
		{
			name:    "a budget for another reason does not count",
			budgets: []api.Budget{always("0", api.DisruptionReasonDrifted), always("3")}, count: budget.PoolCount{Nodes: 9},
			want: 3,
		},
		{
			name:    "a budget for this reason and another counts",
			budgets: []api.Budget{always("1", api.DisruptionReasonDrifted, api.DisruptionReasonEmpty)},
			count:   budget.PoolCount{Nodes: 9}, want: 1,
		},
		{
			name:    "only budgets for other reasons leave this one free",
			budgets: []api.Budget{always("0", api.DisruptionReasonDrifted)}, count: budget.PoolCount{Nodes: 9, Disrupting: 4},
			want: budget.Unlimited,
		},
		{
			name: "a budget without nodes is the default of ten percent", budgets: []api.Budget{always("")},
			count: budget.PoolCount{Nodes: 30}, want: 3,
		},
		{
			name:    "a schedule that began an hour ago and lasts two is active",
			budgets: []api.Budget{scheduled("0", "0 11 * * *", 2*time.Hour)}, count: budget.PoolCount{Nodes: 9}, want: 0,
		},
		{
			name: "a schedule is active from its first moment", budgets: []api.Budget{scheduled("0", "0 12 * * *", time.Hour)},
			count: budget.PoolCount{Nodes: 9}, want: 0,
		},
		{
			name: "a schedule is over at its last moment", budgets: []api.Budget{scheduled("0", "0 11 * * *", time.Hour)},
			count: budget.PoolCount{Nodes: 9}, want: budget.Unlimited,
		},
		{
			name: "a schedule on another day is not active", budgets: []api.Budget{scheduled("0", "0 11 * * tue", 2*time.Hour)},
			count: budget.PoolCount{Nodes: 9}, want: budget.Unlimited,
		},
		{
			name:    "schedules are in UTC by default, wherever the function runs",
			budgets: []api.Budget{scheduled("0", "0 11 * * *", 2*time.Hour)},
			count:   budget.PoolCount{Nodes: 9}, now: monday.In(time.FixedZone("east", 9*3600)), want: 0,
		},
		{
			name: "a word for a schedule", budgets: []api.Budget{scheduled("1", "@daily", 13*time.Hour)},
			count: budget.PoolCount{Nodes: 9}, want: 1,
		},
		{
			name: "a schedule that never comes is never active", budgets: []api.Budget{scheduled("0", "0 0 30 2 *", time.Hour)},
			count: budget.PoolCount{Nodes: 9}, want: budget.Unlimited,
		},
		{
			name:    "a bad schedule closes the pool",
			budgets: []api.Budget{always("5"), scheduled("5", "every monday", time.Hour)}, count: budget.PoolCount{Nodes: 9},
			wrong: "budgets[1].schedule",
		},
		{
			name:    "a time zone whose end no space marks closes the pool",
			budgets: []api.Budget{scheduled("5", "TZ=UTC\t0\t9\t*\t*", time.Hour)}, count: budget.PoolCount{Nodes: 9},
			wrong: "budgets[0].schedule",
		},
		{
			name:    "a time zone in a schedule closes the pool",
			budgets: []api.Budget{scheduled("5", "CRON_TZ=Europe/Berlin 0 9 * * *", time.Hour)},
			count:   budget.PoolCount{Nodes: 9}, wrong: "budgets[0].schedule",
		},
		{
			name:    "a schedule without a minute closes the pool",
			budgets: []api.Budget{scheduled("5", ", 9 * * *", time.Hour)}, count: budget.PoolCount{Nodes: 9},
			wrong: "budgets[0].schedule",
		},
		{
			name:    "a bad budget for another reason closes the pool too",
			budgets: []api.Budget{always("5"), always("some", api.DisruptionReasonDrifted)}, count: budget.PoolCount{Nodes: 9},
			wrong: "budgets[1].nodes",
		},
		{
			name: "more than all is wrong", budgets: []api.Budget{always("101%")}, count: budget.PoolCount{Nodes: 9},
			wrong: "budgets[0].nodes",
		},
		{
			name: "less than nothing is wrong", budgets: []api.Budget{always("-1")}, count: budget.PoolCount{Nodes: 9},
			wrong: "budgets[0].nodes",
		},
		{
			name:    "a duration without a schedule is wrong",
			budgets: []api.Budget{{Nodes: "1", Duration: &metav1.Duration{Duration: time.Hour}}}, wrong: "budgets[0].schedule",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			pool.Spec.Disruption.Budgets = test.budgets
			if test.reason == "" {
				test.reason = api.DisruptionReasonEmpty
			}
			if test.now.IsZero() {
				test.now = monday
			}
			got, err := budget.Allowed(pool, test.count, test.reason, test.now)
			if got != test.want {
				t.Errorf("allowed %d, want %d", got, test.want)
			}
			if test.wrong == "" && err != nil {
				t.Error(err)
			}
			if test.wrong != "" &&
				(err == nil || !strings.Contains(err.Error(), test.wrong) || !strings.Contains(err.Error(), `"default"`)) {
				t.Errorf("error %v, want one that names the pool and %s", err, test.wrong)
			}
		})
	}
}

func TestBudgetsHaveTimeZones(t *testing.T) {
	berlin, mars := "Europe/Berlin", "Mars/Olympus"
	summer := time.Date(2026, 7, 6, 7, 30, 0, 0, time.UTC) // 09:30 in Berlin, 03:30 in New York
	spring := time.Date(2026, 3, 29, 1, 5, 0, 0, time.UTC) // 03:05 in Berlin, and 02:30 does not come
	for _, test := range []struct {
		name, schedule, pool string
		own                  *string
		now                  time.Time
		want                 int
		wrong                string
	}{
		{name: "of its own", schedule: "0 9 * * *", own: &berlin, now: summer, want: 0},
		{name: "of the pool", schedule: "0 9 * * *", pool: berlin, now: summer, want: 0},
		{name: "its own before the pool's", schedule: "0 9 * * *", own: &berlin, pool: "America/New_York", now: summer, want: 0},
		{name: "none is UTC", schedule: "0 9 * * *", now: summer, want: budget.Unlimited},
		{name: "in the gap of a clock change", schedule: "30 2 * * *", own: &berlin, now: spring, want: 0},
		{name: "an unknown one closes the pool", schedule: "0 1 * * *", own: &mars, now: summer,
			wrong: "budgets[0].timeZone"},
		{name: "an unknown one of the pool closes it", schedule: "0 1 * * *", pool: mars, now: summer,
			wrong: "metadata.annotations[whittle.dev/time-zone]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{}}}
			if test.pool != "" {
				pool.Annotations[api.TimeZoneAnnotationKey] = test.pool
			}
			pool.Spec.Disruption.Budgets = []api.Budget{scheduled("0", test.schedule, time.Hour)}
			pool.Spec.Disruption.Budgets[0].TimeZone = test.own
			got, err := budget.Allowed(pool, budget.PoolCount{Nodes: 9}, api.DisruptionReasonEmpty, test.now)
			if got != test.want || (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("allowed %d, want %d; error %v", got, test.want, err)
			}
		})
	}
}

// FuzzAllowed looks for a budget that ends the pass, costs it much time, or is valid and not read.
func FuzzAllowed(f *testing.F) {
	for _, schedule := range []string{
		"0 9 * * mon-fri", "@daily", "@every 1h", "TZ=UTC\t0\t9\t*\t*", "CRON_TZ=", ", , , , ,", "0 0 30 2 *", "*/0 * * * *",
	} {
		f.Add("10%", schedule, int64(time.Hour))
	}
	f.Fuzz(func(t *testing.T, nodes, schedule string, duration int64) {
		pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		pool.Spec.Disruption.Budgets = []api.Budget{scheduled(nodes, schedule, time.Duration(duration))}
		began := time.Now()
		allowed, err := budget.Allowed(pool, budget.PoolCount{Nodes: 3}, api.DisruptionReasonEmpty, monday)
		if took := time.Since(began); took > time.Second {
			t.Errorf("reading the budget took %s", took)
		}
		if err != nil && allowed != 0 {
			t.Errorf("a budget that cannot be read allows %d", allowed)
		}
		_, parses := hours.ParseSchedule(schedule, time.UTC)
		if parses != nil && err == nil {
			t.Errorf("hours.ParseSchedule refuses the schedule: %v", parses)
		}
	})
}

func TestNodesThatAreNotReadyDoNotCountAgainstTheirRepair(t *testing.T) {
	pool := &api.NodePool{}
	pool.Spec.Disruption.Budgets = []api.Budget{always("3")}
	for reason, want := range map[api.DisruptionReason]int{
		api.DisruptionReasonUnhealthy: 2, api.DisruptionReasonDrifted: 0, api.DisruptionReasonEmpty: 0,
	} {
		count := budget.PoolCount{Nodes: 10, Disrupting: 1, NotReady: 2}
		if got, err := budget.Allowed(pool, count, reason, monday); err != nil || got != want {
			t.Errorf("%s: %d allowed, %v; want %d", reason, got, err, want)
		}
	}
}

func TestAPoolThatCannotBeReadAllowsNothing(t *testing.T) {
	pool := &api.NodePool{Unreadable: map[string]string{"spec.disruption.budgets": "odd"}}
	allowed, err := budget.Allowed(pool, budget.PoolCount{Nodes: 10}, api.DisruptionReasonEmpty, monday)
	if allowed != 0 || err == nil || !strings.Contains(err.Error(), "spec.disruption.budgets cannot be read") {
		t.Errorf("%d allowed, %v", allowed, err)
	}
}

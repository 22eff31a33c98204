package isolate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/isolate"
)

func TestPodsThatAPlanPanicsOnAreFound(t *testing.T) {
	all := func(names ...string) func([]string) bool {
		return func(planned []string) bool {
			return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(planned, name) })
		}
	}
	anyOf := func(names ...string) func([]string) bool {
		return func(planned []string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(planned, name) })
		}
	}
	for _, test := range []struct {
		name   string
		count  int
		panics func(planned []string) bool
		want   string
		plans  int
	}{
		{"none", 100, anyOf(), "", 1},
		{"one of thousands", 10_000, anyOf("p4711"), "p4711", 45},
		{"two", 1000, anyOf("p0", "p999"), "p0 p999", 60},
		{"two that are bad together only", 100, all("p1", "p99"), "p50 to p99", 20},
		{"two of one half that are bad together only", 8, all("p4", "p7"), "p6 p7", 20},
		{"the only one", 1, anyOf("p0"), "p0", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			pods := make([]corev1.Pod, test.count)
			for i := range pods {
				pods[i].Name = fmt.Sprint("p", i)
			}
			plans := 0
			good, bad, failures := isolate.Divide(pods, func(planned []corev1.Pod) error {
				plans++
				if test.panics(namesOf(planned)) {
					return errors.New("panic")
				}
				return nil
			})
			got := strings.Join(namesOf(bad), " ")
			if len(bad) > 10 {
				got = bad[0].Name + " to " + bad[len(bad)-1].Name
			}
			if got != test.want || len(failures) != len(bad) || len(good)+len(bad) != test.count {
				t.Errorf("%d good, bad %q with %d errors, want %q", len(good), got, len(failures), test.want)
			}
			if plans > test.plans || test.panics(namesOf(good)) {
				t.Errorf("%d plans, want %d at most; the good ones panic: %v", plans, test.plans, test.panics(namesOf(good)))
			}
		})
	}
}

// Where every plan panics, the search ends.
func TestTheSearchForBadPodsIsBounded(t *testing.T) {
	plans := 0
	good, bad, _ := isolate.Divide(make([]corev1.Pod, 10_000), func([]corev1.Pod) error {
		plans++
		return errors.New("panic")
	})
	if len(good) != 0 || len(bad) != 10_000 || plans > 200 {
		t.Errorf("%d good, %d bad after %d plans", len(good), len(bad), plans)
	}
}

func namesOf(pods []corev1.Pod) []string {
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Name
	}
	return names
}

func TestAPodThatThePlannerPanicsOnStopsNoOther(t *testing.T) {
	pods := make([]corev1.Pod, 9)
	for i := range pods {
		pods[i].Namespace, pods[i].Name = "default", fmt.Sprint("p", i)
	}
	solve := func(s *plan.Snapshot) *plan.Plan {
		decided := &plan.Plan{PricePerHour: 2}
		if s.SkipImprovement {
			decided.PricePerHour = 3
		}
		for i := range s.Pods {
			if s.Pods[i].Name == "p4" || s.Pods[i].Name == "p7" && !s.SkipImprovement {
				panic("affinity")
			}
			decided.Nominations = append(decided.Nominations, plan.Nomination{Pod: plan.RefOf(&s.Pods[i])})
		}
		return decided
	}
	for _, test := range []struct {
		name        string
		pods        []corev1.Pod
		want        string
		nominated   int
		pricePaid   float64
		panicLogged bool
	}{
		{"none panics", pods[:4], "", 4, 2, false},
		{"one panics", pods[:6], "default/p4", 5, 2, true},
		{"the improvement panics", pods[5:], "", 4, 3, true},
		{"both", pods, "default/p4", 8, 3, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			decided, err := isolate.Plan(&plan.Snapshot{Pods: test.pods}, solve)
			var unplaced []string
			for _, one := range decided.Unplaced {
				unplaced = append(unplaced, one.Pod.String())
				if !strings.Contains(one.Reasons[0].Message, "affinity") {
					t.Errorf("reason %q", one.Reasons[0].Message)
				}
			}
			if got := strings.Join(unplaced, " "); got != test.want || len(decided.Nominations) != test.nominated ||
				decided.PricePerHour != test.pricePaid || (err != nil) != test.panicLogged {
				t.Errorf("unplaced %q, %d placed for %v, error %v", got, len(decided.Nominations), decided.PricePerHour, err)
			}
		})
	}
	broken := func(*plan.Snapshot) *plan.Plan { panic("a node") }
	if decided, err := isolate.Plan(&plan.Snapshot{Pods: pods}, broken); err == nil || len(decided.Unplaced) != len(pods) {
		t.Errorf("where every plan panics: %+v, %v", decided, err)
	}
}

package status_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/status"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// store is one ConfigMap in memory, with the API server's preconditions.
type store struct {
	object  *corev1.ConfigMap
	version int
	others  int // how many others write just before us
	failure error
}

func (s *store) ConfigMap(context.Context, string) (*corev1.ConfigMap, error) {
	if s.object == nil || s.failure != nil {
		return nil, s.failure
	}
	return s.object.DeepCopy(), nil
}

func (s *store) PutConfigMap(_ context.Context, object *corev1.ConfigMap) error {
	if s.others > 0 {
		s.others--
		s.version++
		s.object = &corev1.ConfigMap{Data: map[string]string{"other": fmt.Sprint(s.others)}}
		s.object.Name, s.object.ResourceVersion = object.Name, fmt.Sprint(s.version)
	}
	if s.object != nil && s.object.ResourceVersion != object.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, object.Name, errors.New("it was changed"))
	}
	s.version++
	s.object = object.DeepCopy()
	s.object.ResourceVersion = fmt.Sprint(s.version)
	return nil
}

func lastPlan(t *testing.T, s *store) (*status.Plan, error) {
	t.Helper()
	contents, err := status.Read(t.Context(), s)
	return contents.Plan, err
}

func somePlan() status.Plan {
	return status.Plan{
		Time: now, Pods: 9, Existing: 4, Unplaced: 1, PricePerHour: 0.15, LowerBoundPerHour: 0.12,
		Nodes: []status.Nodes{
			{
				NodePool: "default", InstanceType: "c7g.large", CapacityType: "spot", Zone: "us-east-1a", Count: 2,
				Pods: 4, PricePerHour: 0.15,
			},
		},
	}
}

func TestThePlanComesBack(t *testing.T) {
	s := &store{}
	if plan, err := lastPlan(t, s); plan != nil || err != nil {
		t.Fatalf("before the first there is %+v, %v", plan, err)
	}
	for _, pods := range []int{9, 10} { // made, then replaced
		written := somePlan()
		written.Pods = pods
		if err := status.PutPlan(t.Context(), s, written); err != nil {
			t.Fatal(err)
		}
		read, err := lastPlan(t, s)
		if err != nil || !reflect.DeepEqual(*read, written) {
			t.Errorf("wrote %+v, read %+v, %v", written, read, err)
		}
	}
}

func TestAPlanMeetsOthersWhoWrite(t *testing.T) {
	s := &store{others: 3}
	if err := status.PutPlan(t.Context(), s, somePlan()); err != nil {
		t.Fatal(err)
	}
	if plan, err := lastPlan(t, s); err != nil || plan == nil || s.object.Data["other"] != "0" {
		t.Errorf("%+v, %v; what others wrote is %v", plan, err, s.object.Data)
	}
	s.others = 100
	if err := status.PutPlan(t.Context(), s, somePlan()); !apierrors.IsConflict(err) {
		t.Errorf("against a hundred others: %v, want a conflict", err)
	}
	forbidden := apierrors.NewForbidden(
		schema.GroupResource{Resource: "configmaps"}, "whittle-status", errors.New("no right"),
	)
	if err := status.PutPlan(t.Context(), &store{failure: forbidden}, somePlan()); !apierrors.IsForbidden(err) {
		t.Errorf("without the right: %v", err)
	}
	if _, err := lastPlan(t, &store{failure: forbidden}); !apierrors.IsForbidden(err) {
		t.Errorf("without the right: %v", err)
	}
}

func TestAPlanOfAThousandKindsStaysSmall(t *testing.T) {
	large := somePlan()
	for i := range 1000 {
		large.Nodes = append(
			large.Nodes,
			status.Nodes{
				NodePool: strings.Repeat("p", 63), InstanceType: fmt.Sprintf("u7inh-32tb.%dxlarge", i),
				CapacityType: "on-demand", Zone: "us-east-1-atl-2a", Count: 2,
			},
		)
	}
	s := &store{}
	if err := status.PutPlan(t.Context(), s, large); err != nil {
		t.Fatal(err)
	}
	if size := len(s.object.Data["plan.json"]); size > 10_000 {
		t.Errorf("%d bytes", size)
	}
	if read, err := lastPlan(t, s); err != nil || read.NewNodes() != large.NewNodes() ||
		read.NewNodes() != 2002 {
		t.Errorf("%d new nodes of %d, %v", read.NewNodes(), large.NewNodes(), err)
	}
}

func TestWhatIsNoPlanIsNone(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "{}"} {
		s := &store{object: &corev1.ConfigMap{Data: map[string]string{"plan.json": text}}}
		if plan, err := lastPlan(t, s); plan != nil || err != nil {
			t.Errorf("%q is %+v, %v", text, plan, err)
		}
	}
}

func TestOfBound(t *testing.T) {
	for _, test := range []struct{ price, bound, want float64 }{{3, 2, 1.5}, {3, 0, 0}, {0, 0, 0}} {
		if got := (&status.Plan{PricePerHour: test.price, LowerBoundPerHour: test.bound}).OfBound(); got != test.want {
			t.Errorf("%v of %v is %v, want %v", test.price, test.bound, got, test.want)
		}
	}
}

// The bound counts the risk of interruptions, and the price that people read does not.
func TestTheBoundIsComparedWithTheRisk(t *testing.T) {
	plan := status.Plan{PricePerHour: 1.9, RiskPerHour: 0.1, LowerBoundPerHour: 2}
	if got := plan.OfBound(); got != 1 || plan.Closeness() != "optimal" {
		t.Errorf("the plan is %v of its bound, %q", got, plan.Closeness())
	}
	plan.RiskPerHour = 0.14
	if got := plan.Closeness(); got != "at most 2.0 % above the cheapest plan" {
		t.Errorf("it is %q", got)
	}
}

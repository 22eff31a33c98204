package chaos

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestASeedGivesTheSameChaos(t *testing.T) {
	const length = 30 * time.Minute
	one, again, other := Schedule(7, length), Schedule(7, length), Schedule(8, length)
	if !slices.Equal(one, again) {
		t.Error("the same seed gives another schedule")
	}
	if slices.Equal(one, other) {
		t.Error("another seed gives the same schedule")
	}
	counts := map[Kind]int{}
	for i, disturbance := range one {
		counts[disturbance.Kind]++
		if disturbance.At < 0 || disturbance.At >= length || i > 0 && disturbance.At < one[i-1].At {
			t.Errorf("%s comes out of turn", disturbance)
		}
	}
	for _, one := range weights() {
		if counts[one.kind] == 0 {
			t.Errorf("in half an hour there is not once %s", one.kind)
		}
	}
	if counts[Restart] != 7 {
		t.Errorf("the control plane restarts %d times in half an hour", counts[Restart])
	}
	if counts[Drift] != 10 {
		t.Errorf("the nodes are outdated %d times in half an hour", counts[Drift])
	}
	for _, kind := range []Kind{Restart, Drift} {
		if !slices.ContainsFunc(Schedule(7, time.Minute), func(h Disturbance) bool { return h.Kind == kind }) {
			t.Errorf("a minute of chaos has not once %s", kind)
		}
	}
}

func TestTheLogsSayWhyClaimsCameAndWent(t *testing.T) {
	said := &history{came: map[string]string{}, went: map[string]string{}}
	said.read("lifecycle", []string{
		"START RequestId: 1",
		`{"msg":"created nodeclaim","NodeClaim":"a"}`,
		`{"msg":"launched nodeclaim","NodeClaim":"b"}`,
		`{"msg":"giving up nodeclaim","NodeClaim":"b","others":["c"],"reason":"InsufficientCapacityError"}`,
		`{"msg":"disrupting node(s)","NodeClaim":"a","reason":"Empty"}`,
		`{"msg":"message failed","error":"nodeclaims is forbidden: User \"f\" cannot get resource \"nodeclaims\" in API ` +
			`group \"karpenter.sh\" at the cluster scope"}`,
		`{"msg":"message failed","error":"pods \"a\" is forbidden: User \"f\" cannot create resource \"pods/eviction\" in ` +
			`API group \"\" in the namespace \"default\""}`,
	})
	known := map[string]bool{"a": false, "b": false, "c": false, "d": true}
	if want := []string{
		"no log has the reason of the start of nodeclaim c", "no log has the reason of the start of nodeclaim d",
	}; !slices.Equal(said.unexplained(known), want) {
		t.Errorf("what is lacking: %q", said.unexplained(known))
	}
	if went := counts(said.went, known, false); !maps.Equal(went,
		map[string]int{"giving up nodeclaim: InsufficientCapacityError": 2, "disrupting node(s): Empty": 1}) {
		t.Errorf("nodes went for %v", went)
	}
	want := []refusal{
		{"lifecycle", "", "get", "nodeclaims", "karpenter.sh", ""},
		{"lifecycle", "a", "create", "pods/eviction", "", "default"},
	}
	if !slices.Equal(said.forbidden, want) {
		t.Errorf("refused rights: %q", said.forbidden)
	}
}

func TestAReportWithViolationsIsAFailure(t *testing.T) {
	report := &Report{Seed: 9, Length: time.Minute}
	var out strings.Builder
	if err := report.Write(&out); err != nil || !strings.Contains(out.String(), "seed 9") {
		t.Errorf("%v: %s", err, out.String())
	}
	report.Violations = []string{"an instance leaks"}
	if err := report.Write(&out); err == nil || !strings.Contains(err.Error(), "seed=9") ||
		!strings.Contains(out.String(), "VIOLATION an instance leaks") {
		t.Errorf("%v: %s", err, out.String())
	}
}

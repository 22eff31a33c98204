package launch

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func batched(name string, batch Batch, attempt string) api.NodeClaim {
	claim := *input().Claim.DeepCopy()
	claim.Name, claim.UID = name, "0f0e0d0c-0000-0000-0000-0000000000ff"
	claim.Annotations[api.AttemptAnnotationKey] = attempt
	if batch.ID != "" {
		claim.Annotations[api.BatchAnnotationKey] = batch.String()
	}
	return claim
}

func TestBatchOf(t *testing.T) {
	claim := batched("a", Batch{ID: "x", Size: 3, Index: 2}, "1")
	if got, err := BatchOf(&claim); err != nil || got != (Batch{"x", 3, 2}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{
		"", "x", "x/3", "x/3/3", "x/0/0", "x/a/0", "x/3/-1", "/3/1", "x/101/1", strings.Repeat("x", 49) + "/1/0", "x/3/1/1",
	} {
		claim.Annotations[api.BatchAnnotationKey] = bad
		if got, err := BatchOf(&claim); err == nil || got.ID != "" || !strings.Contains(err.Error(), api.BatchAnnotationKey) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
		in := input()
		in.Claim = &claim
		if _, err := Build(in); err == nil {
			t.Errorf("%q: built", bad)
		}
	}
	delete(claim.Annotations, api.BatchAnnotationKey)
	if got, err := BatchOf(&claim); err != nil || got != (Batch{}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestABatchIsOneRequest(t *testing.T) {
	first, second := batched("a", Batch{"abc", 3, 1}, "2"), batched("b", Batch{"abc", 3, 0}, "2")
	first.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
	second.Spec.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Gi")
	groups := Groups([]api.NodeClaim{first, second})
	if len(groups) != 1 || groups[0].Waiting[0].Name != "b" || groups[0].Token != "abc-2" || groups[0].Whole() {
		t.Fatalf("%+v, want one batch in its order, not whole without the third", groups)
	}
	stood := groups[0].Claim()
	for name, want := range map[corev1.ResourceName]string{corev1.ResourceCPU: "2", corev1.ResourceMemory: "1Gi"} {
		if got := stood.Spec.Resources.Requests[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%s %s, want the most of any claim, %s", name, &got, want)
		}
	}
	in := input()
	in.Claim = stood
	for i := range in.Types {
		in.Types[i].Allocatable[corev1.ResourceMemory] = resource.MustParse("8Gi")
	}
	request, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if request.Count != 3 || request.ClientToken != "abc-2" || request.Tags[api.BatchTagKey] != "abc-2" ||
		request.Tags[api.NodeClaimTagKey] != "" {
		t.Errorf("%+v", request)
	}
	for _, template := range request.Templates {
		if template.Content.Tags[api.BatchTagKey] != "" {
			t.Error("a launch template carries the batch's name: no other batch could share it")
		}
	}
}

func TestGroups(t *testing.T) {
	now := time.Now()
	in := func(index int) Batch { return Batch{"x", 3, index} }
	launched := batched("l", in(0), "1")
	launched.Status.ProviderID = "aws:///a/i-1"
	deleted := batched("d", in(1), "1")
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	waiting, other := batched("w", in(2), "1"), batched("o", in(1), "1")
	alone, next := batched("alone", Batch{}, "1"), batched("n", in(0), "2")
	bad := batched("bad", Batch{}, "1")
	bad.UID, bad.Annotations[api.BatchAnnotationKey] = "1", "bad"
	for _, test := range []struct {
		name   string
		claims []api.NodeClaim
		want   string // token:waiting:whole
	}{
		{"a claim by itself is always whole", []api.NodeClaim{alone}, "0f0e0d0c-0000-0000-0000-0000000000ff-1:1:true"},
		{
			"a batch that was written whole",
			[]api.NodeClaim{waiting, next, other, batched("z", in(0), "1")}, "x-1:3:true x-2:1:false",
		},
		{"a batch whose writing was cut off", []api.NodeClaim{waiting, other}, "x-1:2:false"},
		{"a batch that was answered", []api.NodeClaim{launched, waiting}, "x-1:1:true"},
		{
			"a batch of which a claim is being deleted",
			[]api.NodeClaim{waiting, deleted, batched("z", in(0), "1")}, "x-1:2:false",
		},
		{"a batch without a claim that waits", []api.NodeClaim{launched, deleted}, ""},
		{"an annotation that cannot be read", []api.NodeClaim{bad}, "1-1:1:true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, group := range Groups(test.claims) {
				got = append(got, fmt.Sprintf("%s:%d:%v", group.Token, len(group.Waiting), group.Whole()))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAssign(t *testing.T) {
	group := Group{ID: "x", Size: 4}
	for i, name := range []string{"a", "b", "c", "d"} {
		group.Waiting = append(group.Waiting, batched(name, Batch{"x", 4, i}, "1"))
	}
	without := func(names ...string) Group {
		less := Group{ID: "x", Size: 4}
		for _, claim := range group.Waiting {
			if !strings.Contains(strings.Join(names, ""), claim.Name) {
				less.Waiting = append(less.Waiting, claim)
			}
		}
		return less
	}
	for _, test := range []struct {
		name  string
		group Group
		ids   []string
		owned map[string]bool
		want  map[string]string
	}{
		{
			"each claim gets its own, whatever the answer's order",
			group, []string{"4", "2", "3", "1"}, nil, map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"},
		},
		{"fewer than asked for", group, []string{"1", "2"}, nil, map[string]string{"a": "1", "b": "2"}},
		{
			"waiting claims keep their own", without("a", "c"),
			[]string{"1", "2", "3", "4"}, map[string]bool{"1": true, "3": true}, map[string]string{"b": "2", "d": "4"},
		},
		{
			"a claim without its own gets the one that a deleted claim leaves", without("b"),
			[]string{"1", "2", "3"}, nil, map[string]string{"a": "1", "c": "3", "d": "2"},
		},
		{
			"no claim gets an instance of another claim", without("a"),
			[]string{"1", "2", "3"}, map[string]bool{"2": true, "3": true}, map[string]string{"b": "1"},
		},
		{"none", group, nil, nil, map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.group.Assign(test.ids, test.owned); !maps.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

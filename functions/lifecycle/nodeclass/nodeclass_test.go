package nodeclass_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclass"
	"github.com/whittle-dev/whittle/shared/api"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func class(name, uid, profile string) api.EC2NodeClass {
	made := api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	made.Status.InstanceProfile = profile
	return made
}

func claim(class, profile, providerID string) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-of-" + class}}
	made.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: class}
	made.Status.ProviderID = providerID
	if profile != "" {
		made.Annotations = map[string]string{api.AnnotationInstanceProfile: profile}
	}
	return made
}

func TestAProfileIsInUse(t *testing.T) {
	foreign := claim("b", "", "")
	foreign.Spec.NodeClassRef.Group = "example.com"
	for _, test := range []struct {
		name    string
		classes []api.EC2NodeClass
		claims  []api.NodeClaim
		want    bool
	}{
		{"nothing there", nil, nil, false},
		{"its class has it", []api.EC2NodeClass{class("a", "uid", "p")}, nil, true},
		{"another class names it", []api.EC2NodeClass{class("b", "other", "p")}, nil, true},
		{"its class is to have it", []api.EC2NodeClass{class("wants-p", "uid", "")}, nil, true},
		{"its class has another", []api.EC2NodeClass{class("a", "uid", "q")}, nil, false},
		{"a claim has it", []api.EC2NodeClass{class("a", "uid", "q")}, []api.NodeClaim{claim("a", "p", "i")}, true},
		{"a claim of a class that is gone has it", nil, []api.NodeClaim{claim("a", "p", "i")}, true},
		{"a claim has another", []api.EC2NodeClass{class("a", "uid", "q")}, []api.NodeClaim{claim("a", "q", "i")}, false},
		{"a claim of its class says none", []api.EC2NodeClass{class("a", "uid", "q")}, []api.NodeClaim{claim("a", "", "i")},
			true},
		{"a claim of another class says none", []api.EC2NodeClass{class("a", "uid", "q"), class("b", "other", "")},
			[]api.NodeClaim{claim("b", "", "i")}, false},
		{"its class is gone, a claim says none", []api.EC2NodeClass{class("b", "other", "")},
			[]api.NodeClaim{claim("b", "", "i")}, true},
		{"another controller's claim", nil, []api.NodeClaim{foreign}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			current := func(class *api.EC2NodeClass) string {
				if class.Name == "wants-p" {
					return "p"
				}
				return "of-" + class.Name
			}
			if got := nodeclass.ProfileInUse(nodeclass.Profile{Name: "p", ClassUID: "uid"}, test.classes, test.claims,
				current); got != test.want {
				t.Errorf("in use: %t", got)
			}
		})
	}
}

func TestNextOfProfile(t *testing.T) {
	for _, test := range []struct {
		name  string
		inUse bool
		since time.Time
		want  nodeclass.ProfileStep
	}{
		{"used", true, time.Time{}, nodeclass.KeepProfile},
		{"used again", true, noon.Add(-time.Minute), nodeclass.UnmarkProfile},
		{"used no more", false, time.Time{}, nodeclass.MarkProfileUnused},
		{"unused for a while", false, noon.Add(-59 * time.Minute), nodeclass.KeepProfile},
		{"unused for an hour", false, noon.Add(-time.Hour), nodeclass.DeleteProfile},
		{"unused from tomorrow on", false, noon.Add(24 * time.Hour), nodeclass.MarkProfileUnused},
	} {
		if got := nodeclass.NextOfProfile(test.inUse, test.since, noon); got != test.want {
			t.Errorf("%s: step %d, want %d", test.name, got, test.want)
		}
	}
}

func TestIdleTemplates(t *testing.T) {
	old, young := noon.Add(-time.Hour), noon.Add(-59*time.Minute)
	templates := []nodeclass.Template{
		{ID: "used", Class: "a", Created: old}, {ID: "idle", Class: "a", Created: old},
		{ID: "young", Class: "a", Created: young}, {ID: "waited-for", Class: "b", Created: old},
	}
	used := []string{"used", ""}
	claims := []api.NodeClaim{claim("a", "", "aws:///z/i-1"), claim("b", "", "")}
	var got []string
	for _, template := range nodeclass.IdleTemplates(templates, used, claims, noon) {
		got = append(got, template.ID)
	}
	if !slices.Equal(got, []string{"idle"}) {
		t.Errorf("idle are %v", got)
	}
	if len(templates) != 4 || templates[0].ID != "used" {
		t.Error("the list was changed")
	}
}

func TestAClassIsHeldOnceAndLetGoOnce(t *testing.T) {
	made := class("a", "uid", "")
	made.Finalizers = []string{"example.com/other"}
	finalizers, changed := nodeclass.Finalizers(&made)
	if !changed || !slices.Equal(finalizers, []string{"example.com/other", api.EC2NodeClassTerminationFinalizer}) ||
		nodeclass.IsEnding(&made) {
		t.Errorf("%v, %t", finalizers, changed)
	}
	made.Finalizers = finalizers
	if _, changed := nodeclass.Finalizers(&made); changed {
		t.Error("held twice")
	}
	made.DeletionTimestamp = &metav1.Time{Time: noon}
	if !nodeclass.IsEnding(&made) {
		t.Error("it does not leave")
	}
	made.Finalizers = []string{"example.com/other"}
	if _, changed := nodeclass.Finalizers(&made); changed || nodeclass.IsEnding(&made) {
		t.Error("the API server takes no finalizer of an object that is being deleted")
	}
}

func TestAWaitingClassNamesAFewOfItsClaims(t *testing.T) {
	for _, test := range []struct {
		holders []string
		want    string
	}{
		{[]string{"a", "b"}, "a, b"},
		{[]string{"a", "b", "c", "d", "e", "f", "g"}, "a, b, c, d, e and 2 others"},
	} {
		if got := nodeclass.WaitingMessage(test.holders); got != "Waiting on NodeClaim termination for "+test.want {
			t.Errorf("message %q", got)
		}
	}
}

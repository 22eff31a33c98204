package drift_test

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestHashesOfPoolsAndClasses(t *testing.T) {
	origin, claim, _ := drifting(t)
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "c"}
	other := claim.DeepCopy()
	other.Name, other.Annotations = "other", nil
	pool := map[string]string{
		api.NodePoolHashAnnotationKey: origin.PoolHash, api.NodePoolHashVersionAnnotationKey: api.NodePoolHashVersion,
	}
	class := map[string]string{
		api.AnnotationEC2NodeClassHash:        origin.ClassHash,
		api.AnnotationEC2NodeClassHashVersion: api.EC2NodeClassHashVersion,
	}
	check := func(when string, claims []api.NodeClaim, wantPool, wantClass map[string]string) {
		t.Helper()
		if got := origin.PoolAnnotations(claims); !maps.Equal(got, wantPool) {
			t.Errorf("%s: the pool gets %v, want %v", when, got, wantPool)
		}
		if got := origin.ClassAnnotations(claims); !maps.Equal(got, wantClass) {
			t.Errorf("%s: the class gets %v, want %v", when, got, wantClass)
		}
	}
	check("without claims", nil, pool, class)
	check("with a claim of this version and one of none", []api.NodeClaim{*claim, *other}, pool, class)

	other.Annotations = map[string]string{
		api.NodePoolHashVersionAnnotationKey: "v1", api.AnnotationEC2NodeClassHashVersion: "v5",
	}
	check("with a claim of another version", []api.NodeClaim{*claim, *other}, nil, nil)
	leaving := other.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: monday}
	check("with a leaving claim of another version", []api.NodeClaim{*leaving}, pool, class)
	delete(other.Labels, api.NodePoolLabelKey)
	check("with a claim of another version that has no pool", []api.NodeClaim{*other}, pool, class)

	origin.Pool.Annotations, origin.Class.Annotations = pool, class
	check("once they are there", []api.NodeClaim{*claim}, nil, nil)
	origin.Pool.Annotations = map[string]string{
		api.NodePoolHashAnnotationKey: "1", api.NodePoolHashVersionAnnotationKey: api.NodePoolHashVersion,
	}
	check("after a change of the pool", []api.NodeClaim{*claim}, pool, nil)
	origin.Class = nil
	check("without the class", []api.NodeClaim{*claim}, pool, nil)
}

package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
)

const poolsPath = "/apis/karpenter.sh/v1/nodepools"

// TestPoolsAndClassesGetTheirHashes goes from objects without hashes to a claim of another version.
// The claim gets the version in one tick, and its pool and class follow with the next.
func TestPoolsAndClassesGetTheirHashes(t *testing.T) {
	l := newLife(t)
	l.betweenSweeps()
	makeClass(t, "hashed")
	pool := &api.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "hashed"}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "hashed",
	}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot"}},
	}
	pool.Default()
	functiontest.Create(t, server, poolsPath, pool)
	hashes := func() (ofPool, ofClass map[string]string) {
		l.tickOnce(t)
		read := functiontest.Get[api.NodePool](t, server, poolsPath+"/hashed")
		return read.Annotations, readClass(t, "hashed").Annotations
	}
	check := func(when string, poolVersion, classVersion string) (hash string) {
		t.Helper()
		ofPool, ofClass := hashes()
		if got := ofPool[api.NodePoolHashVersionAnnotationKey]; got != poolVersion {
			t.Errorf("%s: the pool's hash has the version %q, want %q", when, got, poolVersion)
		}
		if got := ofClass[api.AnnotationEC2NodeClassHashVersion]; got != classVersion {
			t.Errorf("%s: the class's hash has the version %q, want %q", when, got, classVersion)
		}
		if (ofPool[api.NodePoolHashAnnotationKey] == "") != (poolVersion == "") {
			t.Errorf("%s: the pool has the annotations %v", when, ofPool)
		}
		return ofClass[api.AnnotationEC2NodeClassHash]
	}
	first := check("new", api.NodePoolHashVersion, api.EC2NodeClassHashVersion)

	// Karpenter 1.14 was here: its version is on the class and on the claim.
	l.ec2.launch("i-hashed", map[string]string{api.NodeClaimTagKey: "hashed"})
	server.Claim(t, "hashed", "i-hashed", func(c *api.NodeClaim) {
		c.Labels = map[string]string{api.NodePoolLabelKey: "hashed"}
		c.Spec.NodeClassRef.Name = "hashed"
		c.Annotations = map[string]string{
			api.NodePoolHashAnnotationKey: "1", api.NodePoolHashVersionAnnotationKey: api.NodePoolHashVersion,
			api.AnnotationEC2NodeClassHash: "1", api.AnnotationEC2NodeClassHashVersion: "v5",
		}
	})
	server.Patch(t, classesPath+"/hashed", annotationsPatch(readClass(t, "hashed").UID, map[string]string{
		api.AnnotationEC2NodeClassHash: "1", api.AnnotationEC2NodeClassHashVersion: "v5",
	}))
	check("with a claim of another version", api.NodePoolHashVersion, "v5")
	if got := readClaim(t, "hashed").Annotations; got[api.AnnotationEC2NodeClassHash] != first {
		t.Errorf("the claim has the annotations %v, want the class's hash %s", got, first)
	}
	if got := check("a tick later", api.NodePoolHashVersion, api.EC2NodeClassHashVersion); got != first {
		t.Errorf("the class has the hash %s, want %s", got, first)
	}
}

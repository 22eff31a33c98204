package disruption

import (
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"

	"github.com/whittle-dev/whittle/shared/api"
)

// PoolHash changes when the pool's nodes would be made otherwise than before, but for
// requirements, which are compared with the nodes' labels. It is of the version
// api.NodePoolHashVersion, and the same as Karpenter v1.14 computes: over spec.template,
// in which the order of lists and of maps makes no difference, and a field that is empty
// none from one that is not there.
func PoolHash(pool *api.NodePool) (string, error) {
	template := pool.Spec.Template
	if template.Spec.ExpireAfter.Duration == nil {
		template.Spec.ExpireAfter = api.NillableDuration{} // to Karpenter, Never is what is not there
	}
	sum, err := hashstructure.Hash(template, hashstructure.FormatV2, &hashstructure.HashOptions{SlicesAsSets: true, IgnoreZeroValue: true, ZeroNil: true})
	if err != nil {
		return "", fmt.Errorf("nodepool %q: hashing spec.template: %w", pool.Name, err)
	}
	return strconv.FormatUint(sum, 10), nil
}

// Stamp writes on a claim, which is not stored yet, what the pool that it is made from is
// hashed to.
func Stamp(claim *api.NodeClaim, poolHash string) {
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[api.NodePoolHashAnnotationKey] = poolHash
	claim.Annotations[api.NodePoolHashVersionAnnotationKey] = api.NodePoolHashVersion
}

// staticHash is a pair of annotations: the hash of what a claim was made from, and the
// version of the way it was computed.
type staticHash struct{ hash, version string }

func poolHashKeys() staticHash {
	return staticHash{api.NodePoolHashAnnotationKey, api.NodePoolHashVersionAnnotationKey}
}

func classHashKeys() staticHash {
	return staticHash{api.AnnotationEC2NodeClassHash, api.AnnotationEC2NodeClassHashVersion}
}

// differs tells whether the claim was made from something else than what has the hash
// now. Hashes of different versions say nothing about each other.
func (keys staticHash) differs(claim *api.NodeClaim, now, version string) bool {
	was, known := claim.Annotations[keys.hash]
	return known && claim.Annotations[keys.version] == version && was != now
}

// migrate adds to the annotations what brings the claim's hash to the version: how a
// claim without one was made is not known any more, so that it is taken for one of now;
// but one that has drifted stays so.
// https://github.com/kubernetes-sigs/karpenter/blob/main/designs/drift-hash-versioning.md
func (keys staticHash) migrate(claim *api.NodeClaim, now, version string, into map[string]string) {
	if claim.Annotations[keys.version] == version {
		return
	}
	into[keys.version] = version
	if api.GetCondition(claim.Status.Conditions, api.ConditionTypeDrifted) == nil {
		into[keys.hash] = now
	}
}

package drift

import (
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"

	"github.com/whittle-dev/whittle/shared/api"
)

// PoolHash covers spec.template except its requirements, which are compared with the nodes' labels.
// It changes when the pool would make its nodes differently. It has the version
// api.NodePoolHashVersion, and equals the hash of Karpenter v1.15. The order of lists and maps does
// not matter, and an empty field equals a missing one.
func PoolHash(pool *api.NodePool) (string, error) {
	template := pool.Spec.Template
	if template.Spec.ExpireAfter.Duration == nil {
		template.Spec.ExpireAfter = api.NillableDuration{} // Karpenter reads Never as a missing field.
	}
	options := &hashstructure.HashOptions{SlicesAsSets: true, IgnoreZeroValue: true, ZeroNil: true}
	sum, err := hashstructure.Hash(template, hashstructure.FormatV2, options)
	if err != nil {
		return "", fmt.Errorf("nodepool %q: hashing spec.template: %w", pool.Name, err)
	}
	return strconv.FormatUint(sum, 10), nil
}

// Stamp writes the hash of the claim's pool on the claim, which is not stored yet.
func Stamp(claim *api.NodeClaim, poolHash string) {
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[api.NodePoolHashAnnotationKey] = poolHash
	claim.Annotations[api.NodePoolHashVersionAnnotationKey] = api.NodePoolHashVersion
}

// staticHash is a pair of annotations: the hash of the object that a claim was made from, and the
// version of the hash.
type staticHash struct{ hash, version string }

func poolHashKeys() staticHash {
	return staticHash{api.NodePoolHashAnnotationKey, api.NodePoolHashVersionAnnotationKey}
}

func classHashKeys() staticHash {
	return staticHash{api.AnnotationEC2NodeClassHash, api.AnnotationEC2NodeClassHashVersion}
}

// differs tells whether the object has changed since the claim was made from it. Hashes of
// different versions cannot be compared.
func (keys staticHash) differs(claim *api.NodeClaim, now, version string) bool {
	was, known := claim.Annotations[keys.hash]
	return known && claim.Annotations[keys.version] == version && was != now
}

// migrate adds the annotations that bring the claim's hash to the version. A claim without that
// version counts as made from the object as it is now, because nothing else is known. A drifted
// claim stays drifted.
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

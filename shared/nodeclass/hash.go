package nodeclass

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"

	"github.com/whittle-dev/whittle/shared/api"
)

// Hash returns a hash that changes when new nodes of the class would differ from old ones, apart
// from what is compared with the nodes themselves: images, subnets, groups and reservations.
//
// It equals the hash of Karpenter v1.14, of the version api.EC2NodeClassHashVersion. It covers the
// spec without the fields that its tags ignore, the effective AMI family, and the cluster's
// certificate authority (PEM here, base64 in the hash). Kubelet settings without a field in
// Karpenter's API are included where there are any. The order of lists and maps does not matter,
// and an empty field equals a missing one.
func Hash(class *api.EC2NodeClass, certificateAuthority []byte) (string, error) {
	parts := []any{
		class.Spec, cmp.Or(class.AMIFamily(), api.AMIFamilyCustom),
		base64.StdEncoding.EncodeToString(certificateAuthority),
	}
	if settings := class.Spec.Kubelet; settings != nil && len(settings.Other) > 0 {
		other, err := sortedJSON(settings.Other)
		if err != nil {
			return "", fmt.Errorf("ec2nodeclass %q: hashing spec.kubelet: %w", class.Name, err)
		}
		parts = append(parts, other)
	}
	sum, err := hashstructure.Hash(parts, hashstructure.FormatV2, hashOptions())
	if err != nil {
		return "", fmt.Errorf("ec2nodeclass %q: hashing its spec: %w", class.Name, err)
	}
	return strconv.FormatUint(sum, 10), nil
}

func hashOptions() *hashstructure.HashOptions {
	return &hashstructure.HashOptions{SlicesAsSets: true, IgnoreZeroValue: true, ZeroNil: true}
}

// sortedJSON writes the settings with sorted keys at every depth, so that equal settings have equal
// texts.
func sortedJSON(settings map[string]json.RawMessage) (string, error) {
	encoded, err := json.Marshal(settings)
	if err != nil {
		return "", err
	}
	var sorted any
	if err := json.Unmarshal(encoded, &sorted); err != nil {
		return "", err
	}
	encoded, err = json.Marshal(sorted)
	return string(encoded), err
}

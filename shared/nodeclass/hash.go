package nodeclass

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"

	"github.com/whittle-dev/whittle/shared/api"
)

// Hash returns a hash that changes when new nodes of the class would differ from old ones, apart
// from what is compared with the nodes themselves: images, subnets, groups and reservations.
//
// It equals the hash of Karpenter v1.15, of the version api.EC2NodeClassHashVersion. It covers the
// spec without the fields that its tags ignore, the effective AMI family, the cluster's certificate
// authority (PEM here, base64 in the hash), and the text of the kubelet settings. The order of
// lists and maps does not matter, and an empty field equals a missing one.
func Hash(class *api.EC2NodeClass, certificateAuthority []byte) (string, error) {
	kubelet, err := class.Spec.Kubelet.Text()
	if err != nil {
		return "", fmt.Errorf("ec2nodeclass %q: hashing spec.kubelet: %w", class.Name, err)
	}
	parts := []any{
		class.Spec, cmp.Or(class.AMIFamily(), api.AMIFamilyCustom),
		base64.StdEncoding.EncodeToString(certificateAuthority), kubelet,
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

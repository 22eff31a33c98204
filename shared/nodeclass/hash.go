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

// Hash changes when nodes of the class would be launched otherwise than before,
// but for what is compared with the nodes themselves: images, subnets, groups and
// reservations. It is of the version api.EC2NodeClassHashVersion, over what
// Karpenter's is: the spec without the fields that its tags ignore, the AMI family
// that is in force, the cluster's certificate authority (PEM here, base64 in the
// hash) and the kubelet's settings as JSON. The order of lists and of maps makes
// no difference, and a field that is empty none from one that is not there.
func Hash(class *api.EC2NodeClass, certificateAuthority []byte) (string, error) {
	kubelet, err := kubeletJSON(class.Spec.Kubelet)
	if err != nil {
		return "", fmt.Errorf("ec2nodeclass %q: hashing spec.kubelet: %w", class.Name, err)
	}
	sum, err := hashstructure.Hash([]any{
		class.Spec, cmp.Or(class.AMIFamily(), api.AMIFamilyCustom), base64.StdEncoding.EncodeToString(certificateAuthority), kubelet,
	}, hashstructure.FormatV2, hashOptions())
	if err != nil {
		return "", fmt.Errorf("ec2nodeclass %q: hashing its spec: %w", class.Name, err)
	}
	return strconv.FormatUint(sum, 10), nil
}

func hashOptions() *hashstructure.HashOptions {
	return &hashstructure.HashOptions{SlicesAsSets: true, IgnoreZeroValue: true, ZeroNil: true}
}

// kubeletJSON writes the settings with their keys in order, so that equal ones
// are equal texts.
func kubeletJSON(settings *api.KubeletConfiguration) (string, error) {
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

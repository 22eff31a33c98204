package nodeclass

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// al2023 writes the user's parts first and the cluster's NodeConfig last. nodeadm merges them in
// order, so the cluster's NodeConfig wins.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/
func al2023(s settings, own string) (string, error) {
	config, err := nodeConfig(s)
	if err != nil {
		return "", err
	}
	return document(al2023Parts(func(_ string, body []byte) error {
		return checkNodeConfig(body, s.cluster.Name)
	}), own, nodeConfigType, config)
}

// al2023Parts are parts of which check sees the NodeConfigs.
func al2023Parts(check func(contentType string, body []byte) error) userParts {
	return userParts{
		typeOf: func(own string) string {
			if isNodeConfig(own) {
				return nodeConfigType
			}
			return scriptType
		},
		check: func(contentType string, body []byte) error {
			if contentType != nodeConfigType {
				return nil
			}
			return check(contentType, body)
		},
		edit: func(contentType string, body []byte) []byte {
			if contentType != nodeConfigType {
				return body
			}
			return withoutExpression(body)
		},
	}
}

// nodeConfig returns the configuration of nodeadm (node.eks.aws/v1alpha1).
func nodeConfig(s settings) ([]byte, error) {
	kubelet := map[string]any{}
	encoded, err := json.Marshal(s.kubelet)
	if err != nil {
		return nil, fmt.Errorf("encoding spec.kubelet: %w", err)
	}
	if err := json.Unmarshal(encoded, &kubelet); err != nil {
		return nil, fmt.Errorf("encoding spec.kubelet: %w", err)
	}
	if len(s.taints) > 0 {
		kubelet["registerWithTaints"] = s.taints
	}
	spec := map[string]any{
		"cluster": map[string]any{
			"name":                 s.cluster.Name,
			"apiServerEndpoint":    s.cluster.Endpoint,
			"certificateAuthority": base64.StdEncoding.EncodeToString(s.cluster.CertificateAuthority),
			"cidr":                 s.cluster.ServiceCIDR,
		},
		"kubelet": map[string]any{"config": kubelet, "flags": []string{"--node-labels=" + pairs(s.labels, "=")}},
	}
	if s.raid0 {
		spec["instance"] = map[string]any{"localStorage": map[string]any{"strategy": "RAID0"}}
	}
	return yaml.Marshal(map[string]any{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})
}

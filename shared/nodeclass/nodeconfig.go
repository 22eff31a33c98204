package nodeclass

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// nodeConfigVersion is the prefix of the apiVersion of nodeadm's documents.
const nodeConfigVersion = "node.eks.aws/"

// userConfig is a user's NodeConfig with the types that nodeadm reads. A field of another type keeps
// the node from joining.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
type userConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster struct {
			Name                 string `json:"name"`
			APIServerEndpoint    string `json:"apiServerEndpoint"`
			CertificateAuthority []byte `json:"certificateAuthority"`
			CIDR                 string `json:"cidr"`
		} `json:"cluster"`
		Containerd struct {
			Config string `json:"config"`
		} `json:"containerd"`
		Instance struct {
			LocalStorage struct {
				Strategy  string `json:"strategy"`
				MountPath string `json:"mountPath"`
			} `json:"localStorage"`
		} `json:"instance"`
		Kubelet struct {
			Config            map[string]any `json:"config"`
			Flags             []string       `json:"flags"`
			MaxPodsExpression string         `json:"maxPodsExpression"`
		} `json:"kubelet"`
		FeatureGates map[string]bool `json:"featureGates"`
	} `json:"spec"`
}

// isNodeConfig reports whether a text is meant to be a NodeConfig, well-formed or not.
func isNodeConfig(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "#!") {
		return false // a script may contain one
	}
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if found &&
			(key == "kind" && value == "NodeConfig" || key == "apiVersion" && strings.HasPrefix(value, nodeConfigVersion)) {
			return true
		}
	}
	return false
}

// checkNodeConfig refuses a user's NodeConfig that nodeadm would refuse, and one for another
// cluster. The cluster's own NodeConfig would override it, and the node would differ from its
// owner's intent.
func checkNodeConfig(text []byte, cluster string) error {
	var config userConfig
	if err := decodeNodeConfig(text, &config); err != nil {
		return err
	}
	if !strings.HasPrefix(config.APIVersion, nodeConfigVersion) || config.Kind != "NodeConfig" {
		return fmt.Errorf(
			"has a part of type %s with apiVersion %q and kind %q: want %sv1alpha1 and NodeConfig", nodeConfigType,
			config.APIVersion, config.Kind, nodeConfigVersion,
		)
	}
	if name := config.Spec.Cluster.Name; name != "" && name != cluster {
		return fmt.Errorf(
			"has a NodeConfig whose spec.cluster.name is %q, and its nodes join cluster %q: remove spec.cluster, which is "+
				"written for you",
			name, cluster,
		)
	}
	return nil
}

// kindText names a type as people who write YAML do.
func kindText(kind reflect.Kind) string {
	switch kind {
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	}
	return "a text"
}

// withoutExpression takes spec.kubelet.maxPodsExpression out of a NodeConfig. A plan cannot count it, and
// Karpenter replaces what it gives, too: spec.kubelet.maxPods of the class decides.
func withoutExpression(text []byte) []byte {
	var config userConfig
	if decodeNodeConfig(text, &config) != nil || config.Spec.Kubelet.MaxPodsExpression == "" {
		return text
	}
	var whole map[string]any
	if yaml.Unmarshal(text, &whole) != nil {
		return text
	}
	if spec, ok := whole["spec"].(map[string]any); ok {
		if kubelet, ok := spec["kubelet"].(map[string]any); ok {
			delete(kubelet, "maxPodsExpression")
		}
	}
	written, err := yaml.Marshal(whole)
	if err != nil {
		return text
	}
	return written
}

// decodeNodeConfig reads a NodeConfig. An error names the field of the wrong type.
func decodeNodeConfig(text []byte, config *userConfig) error {
	var generic any
	if err := yaml.Unmarshal(text, &generic); err != nil {
		return fmt.Errorf("has a NodeConfig that is not well-formed YAML: %w", err)
	}
	err := yaml.Unmarshal(text, config)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("has a NodeConfig that nodeadm refuses: %s must be %s", wrong.Field, kindText(wrong.Type.Kind()))
	case err != nil:
		return fmt.Errorf("has a NodeConfig that nodeadm cannot read: %w", err)
	}
	return nil
}

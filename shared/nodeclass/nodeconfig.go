package nodeclass

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// nodeConfigVersion is the prefix of the apiVersion of nodeadm's documents.
const nodeConfigVersion = "node.eks.aws/"

// userConfig holds the checked fields of a user's NodeConfig.
type userConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster struct {
			Name string `json:"name"`
		} `json:"cluster"`
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
	if err := yaml.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("has a NodeConfig that is not well-formed YAML: %w", err)
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

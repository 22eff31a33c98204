package nodeclass

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// nodeConfigVersion begins the documents that nodeadm reads.
const nodeConfigVersion = "node.eks.aws/"

// userConfig is what is looked at in a NodeConfig of the user's.
type userConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster struct {
			Name string `json:"name"`
		} `json:"cluster"`
	} `json:"spec"`
}

// isNodeConfig tells that a text is meant to be a NodeConfig, well-formed or not.
func isNodeConfig(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "#!") {
		return false // a script, which may write one
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

// checkNodeConfig finds what nodeadm would refuse in a NodeConfig of the user's, and
// one that was written for another cluster: the cluster's own NodeConfig would win over
// it, and the node would not be what its owner thinks.
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

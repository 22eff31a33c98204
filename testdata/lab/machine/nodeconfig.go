package machine

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"sigs.k8s.io/yaml"
)

// nodeConfig is nodeadm's configuration. https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
type nodeConfig struct {
	Cluster  clusterDetails   `json:"cluster"`
	Kubelet  kubeletOptions   `json:"kubelet"`
	Instance *instanceOptions `json:"instance,omitempty"`
	// Containerd and FeatureGates change nothing here; they are checked for their form only.
	Containerd   *containerdOptions `json:"containerd,omitempty"`
	FeatureGates map[string]bool    `json:"featureGates,omitempty"`
}

// clusterDetails names the cluster that a node joins.
type clusterDetails struct {
	Name              string `json:"name"`
	APIServerEndpoint string `json:"apiServerEndpoint"`
	// CertificateAuthority is base64 of PEM.
	CertificateAuthority string `json:"certificateAuthority"`
	// CIDR is the cluster's service range.
	CIDR          string `json:"cidr"`
	EnableOutpost *bool  `json:"enableOutpost,omitempty"`
	ID            string `json:"id,omitempty"`
}

// kubeletOptions are handed on to the kubelet.
type kubeletOptions struct {
	// Config has the fields of a KubeletConfiguration.
	Config map[string]any `json:"config,omitempty"`
	Flags  []string       `json:"flags,omitempty"`
}

// instanceOptions are about the machine itself.
type instanceOptions struct {
	LocalStorage *localStorageOptions         `json:"localStorage,omitempty"`
	Environment  map[string]map[string]string `json:"environment,omitempty"`
}

// localStorageOptions configures the use of the instance's own disks.
type localStorageOptions struct {
	Strategy       string   `json:"strategy,omitempty"`
	MountPath      string   `json:"mountPath,omitempty"`
	DisabledMounts []string `json:"disabledMounts,omitempty"`
}

// containerdOptions configure containerd.
type containerdOptions struct {
	Config          string         `json:"config,omitempty"`
	BaseRuntimeSpec map[string]any `json:"baseRuntimeSpec,omitempty"`
}

type nodeConfigDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Spec       nodeConfig     `json:"spec"`
}

const nodeConfigVersion, nodeConfigKind = "node.eks.aws/v1alpha1", "NodeConfig"

// mergeNodeConfigs lays later documents over earlier ones: scalars and lists replace, maps merge.
func mergeNodeConfigs(documents [][]byte) (*nodeConfig, error) {
	merged := map[string]any{}
	for n, text := range documents {
		var document nodeConfigDocument
		if err := yaml.UnmarshalStrict(text, &document); err != nil {
			return nil, fmt.Errorf("NodeConfig %d of %d: %w", n+1, len(documents), err)
		}
		if document.APIVersion != nodeConfigVersion || document.Kind != nodeConfigKind {
			return nil, fmt.Errorf("NodeConfig %d of %d: apiVersion %q and kind %q: want %q and %q",
				n+1, len(documents), document.APIVersion, document.Kind, nodeConfigVersion, nodeConfigKind)
		}
		var loose map[string]any
		if err := yaml.Unmarshal(text, &loose); err != nil {
			return nil, fmt.Errorf("NodeConfig %d of %d: %w", n+1, len(documents), err)
		}
		if spec, ok := loose["spec"].(map[string]any); ok {
			overlay(merged, spec)
		}
	}
	text, err := yaml.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("merging NodeConfigs: %w", err)
	}
	config := &nodeConfig{}
	if err := yaml.UnmarshalStrict(text, config); err != nil {
		return nil, fmt.Errorf("merging NodeConfigs: %w", err)
	}
	return config, nil
}

func overlay(onto, over map[string]any) {
	for key, value := range over {
		below, both := onto[key].(map[string]any)
		above, ok := value.(map[string]any)
		if !both || !ok {
			onto[key] = value
			continue
		}
		below = maps.Clone(below)
		overlay(below, above)
		onto[key] = below
	}
}

// validate returns the errors that nodeadm reports before it starts the kubelet.
func (c *nodeConfig) validate() error {
	var problems []error
	if c.Cluster.Name == "" {
		problems = append(problems, errors.New("spec.cluster.name is missing"))
	}
	if err := checkEndpoint("spec.cluster.apiServerEndpoint", c.Cluster.APIServerEndpoint); err != nil {
		problems = append(problems, err)
	}
	if _, err := c.authority(); err != nil {
		problems = append(problems, err)
	}
	if c.Cluster.CIDR == "" {
		problems = append(problems,
			errors.New("spec.cluster.cidr is missing: it is the service range that eks:DescribeCluster gives"))
	} else if _, err := netip.ParsePrefix(c.Cluster.CIDR); err != nil {
		problems = append(problems, fmt.Errorf("spec.cluster.cidr %q is not an address range: %w", c.Cluster.CIDR, err))
	}
	if strategy := c.localStorage(); !slices.Contains([]string{"", "RAID0", "RAID10", "Mount"}, strategy) {
		problems = append(problems,
			fmt.Errorf("spec.instance.localStorage.strategy %q is none of RAID0, RAID10 and Mount", strategy))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("NodeConfig: %w", err)
	}
	return nil
}

// authority returns the PEM of the cluster's certificate authority.
func (c *nodeConfig) authority() ([]byte, error) {
	return decodeAuthority("spec.cluster.certificateAuthority", c.Cluster.CertificateAuthority)
}

func (c *nodeConfig) localStorage() string {
	if c.Instance == nil || c.Instance.LocalStorage == nil {
		return ""
	}
	return c.Instance.LocalStorage.Strategy
}

package legacy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// NodePool is karpenter.sh/v1beta1's. Files may hold it; no definition is generated.
//
// +kubebuilder:skipversion
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodePoolSpec `json:"spec,omitempty,omitzero"`
	// Status has the fields of v1.
	Status api.NodePoolStatus `json:"status,omitempty,omitzero"`
}

// NodePoolSpec is the desired state of a node pool.
type NodePoolSpec struct {
	Template   NodeClaimTemplate `json:"template"`
	Disruption Disruption        `json:"disruption,omitzero"`
	Limits     api.Limits        `json:"limits,omitempty"`
	Weight     *int32            `json:"weight,omitempty"`
}

// NodeClaimTemplate is the template of a pool's node claims.
type NodeClaimTemplate struct {
	api.ObjectMeta `json:"metadata,omitempty,omitzero"`
	Spec           NodeClaimSpec `json:"spec,omitempty,omitzero"`
}

// NodeClaim is karpenter.sh/v1beta1's. Files may hold it; no definition is generated.
//
// +kubebuilder:skipversion
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodeClaimSpec `json:"spec,omitempty,omitzero"`
	// Status has the fields of v1.
	Status api.NodeClaimStatus `json:"status,omitempty,omitzero"`
}

// NodeClaimSpec is the desired state of a node.
type NodeClaimSpec struct {
	Taints        []corev1.Taint                             `json:"taints,omitempty"`
	StartupTaints []corev1.Taint                             `json:"startupTaints,omitempty"`
	Requirements  []api.NodeSelectorRequirementWithMinValues `json:"requirements,omitempty"`
	Resources     api.ResourceRequirements                   `json:"resources,omitempty,omitzero"`
	Kubelet       *KubeletConfiguration                      `json:"kubelet,omitempty"`
	NodeClassRef  *NodeClassReference                        `json:"nodeClassRef,omitempty"`
}

// NodeClassReference names a node class. Blank fields mean karpenter.k8s.aws and EC2NodeClass.
type NodeClassReference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name"`
}

// ConsolidationPolicy selects the nodes that consolidation considers.
type ConsolidationPolicy string

// Values of ConsolidationPolicy. v1 calls the first one WhenEmptyOrUnderutilized.
const (
	ConsolidationPolicyWhenUnderutilized ConsolidationPolicy = "WhenUnderutilized"
	ConsolidationPolicyWhenEmpty         ConsolidationPolicy = "WhenEmpty"
)

// Disruption controls when the nodes of a pool may be removed.
type Disruption struct {
	ConsolidateAfter    api.NillableDuration `json:"consolidateAfter,omitzero"`
	ConsolidationPolicy ConsolidationPolicy  `json:"consolidationPolicy,omitempty"`
	// ExpireAfter is 720h by default.
	ExpireAfter api.NillableDuration `json:"expireAfter,omitzero"`
	Budgets     []api.Budget         `json:"budgets,omitempty"`
}

// EC2NodeClass is karpenter.k8s.aws/v1beta1's. Files may hold it; no definition is generated.
//
// +kubebuilder:skipversion
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec EC2NodeClassSpec `json:"spec,omitempty,omitzero"`
	// Status has the fields of v1.
	Status api.EC2NodeClassStatus `json:"status,omitempty,omitzero"`
}

// EC2NodeClassSpec is the desired state of a node class.
type EC2NodeClassSpec struct {
	SubnetSelectorTerms        []api.SubnetSelectorTerm        `json:"subnetSelectorTerms,omitempty"`
	SecurityGroupSelectorTerms []api.SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms,omitempty"`
	AssociatePublicIPAddress   *bool                           `json:"associatePublicIPAddress,omitempty"`
	AMISelectorTerms           []api.AMISelectorTerm           `json:"amiSelectorTerms,omitempty"`
	// AMIFamily may also be Ubuntu.
	AMIFamily           *string                  `json:"amiFamily,omitempty"`
	UserData            *string                  `json:"userData,omitempty"`
	Role                string                   `json:"role,omitempty"`
	InstanceProfile     *string                  `json:"instanceProfile,omitempty"`
	Tags                map[string]string        `json:"tags,omitempty"`
	BlockDeviceMappings []*BlockDeviceMapping    `json:"blockDeviceMappings,omitempty"`
	InstanceStorePolicy *api.InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`
	DetailedMonitoring  *bool                    `json:"detailedMonitoring,omitempty"`
	MetadataOptions     *api.MetadataOptions     `json:"metadataOptions,omitempty"`
	Context             *string                  `json:"context,omitempty"`
}

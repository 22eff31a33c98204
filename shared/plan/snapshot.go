package plan

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// DefaultDispersalPercent is the DispersalPercent of a snapshot that has none.
const DefaultDispersalPercent = 1

// DispersalPercentOf is what keeping replicas apart may add to the price of the pool's new nodes, in percent.
func (s *Snapshot) DispersalPercentOf(pool *api.NodePool) float64 {
	// Provision warns of an annotation that cannot be read.
	if percent, _ := pool.DispersalPercent(); percent != nil {
		return *percent
	}
	if s.DispersalPercent != nil {
		return *s.DispersalPercent
	}
	return DefaultDispersalPercent
}

// Snapshot is everything that a plan is made from: objects as the API server returns them, and the
// instance types that can be bought.
type Snapshot struct {
	// Pods wait for a place. They are the pods that the scheduler found no node for or is late with
	// (scheduling.IsProvisionable), and those that leaving nodes will evict
	// (scheduling.IsReschedulable). A plan answers for every one of them.
	Pods []corev1.Pod `json:"pods,omitempty"`
	// Gangs are the groups of pods that are of use only together. Package gang plans them.
	Gangs []Gang `json:"gangs,omitempty"`
	// Nodes are the existing nodes and those in flight. Leaving nodes are among them, since they
	// count against limits until they are gone.
	Nodes     []Node         `json:"nodes,omitempty"`
	NodePools []api.NodePool `json:"nodePools,omitempty"`
	// UnusablePools are further NodePools, which get no nodes. A plan names them to pods without a
	// place.
	UnusablePools []UnusablePool `json:"unusablePools,omitempty"`
	// PausedPools are those of them that get no node for a while. Consolidation removes nodes of
	// theirs whose pods have room elsewhere, and the instance types have the prices of these nodes.
	PausedPools []api.NodePool     `json:"pausedPools,omitempty"`
	NodeClasses []api.EC2NodeClass `json:"nodeClasses,omitempty"`
	// DaemonSets have as their templates the pods that they really make, with the changes of
	// LimitRanges, webhooks and vertical autoscalers.
	DaemonSets []appsv1.DaemonSet `json:"daemonSets,omitempty"`
	// Limits bound nodes of any NodePool together, beside spec.limits of each pool.
	Limits []Limit `json:"limits,omitempty"`
	// InstanceTypes are the types that each NodePool's nodes can be, by the pool's name. They are
	// what catalog.Resolve returns for the pool's class, with NodeOverlays applied. Pools may share
	// a list.
	InstanceTypes map[string][]catalog.InstanceType `json:"instanceTypes,omitempty"`
	// Unread are the details that nobody has read. Pods that need one of them are held.
	Unread Details `json:"unread,omitzero"`
	// Namespaces serve pod affinity terms that select namespaces by label.
	Namespaces []corev1.Namespace `json:"namespaces,omitempty"`
	// The volumes that the pods mount, and the limits of nodes to attach them.
	PersistentVolumeClaims []corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	PersistentVolumes      []corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	StorageClasses         []storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []storagev1.CSINode            `json:"csiNodes,omitempty"`
	// VolumeLimits is how many EBS volumes nodes of an instance type attach, by what nodes of the whole
	// cluster say. Without it, the snapshot's nodes count.
	VolumeLimits map[string]int `json:"volumeLimits,omitempty"`
	// WellKnownLabels are further label keys that a pod may ask for although no NodePool defines
	// them. Those of Kubernetes, Karpenter and AWS are known anyway.
	WellKnownLabels []string `json:"wellKnownLabels,omitempty"`
	// MaximumTypes is the greatest number of instance types of a claim; zero for the planner's own.
	MaximumTypes     int              `json:"maximumTypes,omitempty"`
	PreferencePolicy PreferencePolicy `json:"preferencePolicy,omitempty"`
	MinValuesPolicy  MinValuesPolicy  `json:"minValuesPolicy,omitempty"`
	// ManagedDeletionCosts says that Whittle writes the deletion costs of pods. They are no wishes of
	// the pods' owners then, and evictions cost nothing by them.
	ManagedDeletionCosts bool `json:"managedDeletionCosts,omitempty"`
	// DispersalPercent is what keeping replicas of a workload apart may add to the price of new nodes, in
	// percent, for NodePools that do not say it themselves. Nil is DefaultDispersalPercent.
	DispersalPercent *float64 `json:"dispersalPercent,omitempty"`
	// SkipImprovement asks for a plan in a fraction of the time. New nodes stay as they are first
	// packed, the planner makes no second plan, and LowerBoundPerHour stays zero.
	SkipImprovement bool `json:"skipImprovement,omitempty"`
}

// Limit bounds what nodes of any NodePool take together. Package limit says which nodes count.
type Limit struct {
	// Kind and Name are whose limit it is: the kind and the name of an object, or LimitOfSetting
	// and the setting's key. A setting counts the nodes of NodePools only.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Selector selects nodes by their labels. Nil and empty select all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Resources are the greatest amounts. Their names are those of spec.limits.
	Resources corev1.ResourceList `json:"resources"`
}

// LimitOfSetting is the kind of a limit that a setting of the deployment makes.
const LimitOfSetting = "setting"

// UnusablePool is a NodePool that gets no nodes. The message gives the reason and the remedy.
type UnusablePool struct {
	NodePool string `json:"nodePool"`
	Message  string `json:"message"`
}

// PreferencePolicy says how preferences count: preferred affinity, ScheduleAnyway spread and
// PreferNoSchedule taints. The empty policy is Respect.
type PreferencePolicy string

const (
	// PreferencesRespected treats preferences as required, and gives them up one at a time for pods
	// that find no place otherwise.
	PreferencesRespected PreferencePolicy = "Respect"
	// PreferencesIgnored leaves preferences out.
	PreferencesIgnored PreferencePolicy = "Ignore"
)

// MinValuesPolicy says what happens if a requirement's minValues cannot be met. The empty policy is
// Strict.
type MinValuesPolicy string

const (
	// MinValuesStrict launches no node.
	MinValuesStrict MinValuesPolicy = "Strict"
	// MinValuesBestEffort lowers minValues to the number of values there are, and notes that in an
	// annotation of the NodeClaim.
	MinValuesBestEffort MinValuesPolicy = "BestEffort"
)

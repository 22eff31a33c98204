package own

// Source is the source of all events.
const Source = "whittle"

// Version is the version of all schemas.
const Version = 1

// Detail is the content of an event.
type Detail interface {
	// DetailType is the event's detail-type.
	DetailType() string
}

// Head begins every detail.
type Head struct {
	Version int    `json:"version"`
	Cluster string `json:"cluster"`
}

// HeadOf returns the head of an event of the cluster.
func HeadOf(cluster string) Head { return Head{Version: Version, Cluster: cluster} }

// Node names a node and what stands for it.
type Node struct {
	NodeClaim string `json:"nodeClaim"`
	NodePool  string `json:"nodePool,omitempty"`
	// NodeName is empty until the node has joined.
	NodeName   string `json:"nodeName,omitempty"`
	InstanceID string `json:"instanceID,omitempty"`
}

// NodeLaunched says that EC2 has launched an instance for a NodeClaim.
type NodeLaunched struct {
	Head
	Node
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// PricePerHour is in US dollars, by the catalogue.
	PricePerHour float64 `json:"pricePerHour"`
}

// NodeReady says that a node is initialized, so that its pods may run.
type NodeReady struct {
	Head
	Node
}

// NodeDrained says that no pod is left to evict from a node that leaves.
type NodeDrained struct {
	Head
	Node
}

// LaunchFailed says that EC2 refused a launch for another reason than a lack of capacity.
type LaunchFailed struct {
	Head
	NodeClaims []string `json:"nodeClaims"`
	NodePool   string   `json:"nodePool,omitempty"`
	// Reason is that of the condition Launched, and Message names the remedy.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// PodsUnserved says that a pod has waited for a node for ten minutes, and again after each further
// ten.
type PodsUnserved struct {
	Head
	Pods          int     `json:"pods"` // all pending ones, without those that wait for a NodePool that sleeps
	OldestSeconds float64 `json:"oldestSeconds"`
}

// SavingsFound says that disruption begins to remove or replace a node.
type SavingsFound struct {
	Head
	Node
	// Reason is Empty, Underutilized or Drifted.
	Reason string `json:"reason"`
	// SavedPerHour is in US dollars, by the catalogue.
	SavedPerHour float64 `json:"savedPerHour"`
}

// Freeze is an order that Whittle begins nothing by itself: of a person, or by a CloudWatch alarm.
type Freeze struct {
	// NodePool is empty for a freeze of the whole cluster.
	NodePool string `json:"nodePool,omitempty"`
	Who      string `json:"who,omitempty"`
	// Reason is why, in that person's words.
	Reason string `json:"reason,omitempty"`
	// Until is when it ends, as in RFC 3339. It is empty for one that lasts until somebody ends it.
	Until string `json:"until,omitempty"`
	// Launches and Drains say that it holds these, too.
	Launches bool `json:"launches"`
	Drains   bool `json:"drains"`
	// Problem is why the order cannot be read, with the remedy.
	Problem string `json:"problem,omitempty"`
	// Alarm is the name of the CloudWatch alarm that orders it, and State the alarm's state since the time
	// Since, as in RFC 3339. They are empty for a person's order.
	Alarm string `json:"alarm,omitempty"`
	State string `json:"state,omitempty"`
	Since string `json:"since,omitempty"`
	// NodeClass is the EC2NodeClass that the alarm is about, whose NodePools are frozen.
	NodeClass string `json:"nodeClass,omitempty"`
	// Unread says that the alarms are not read any more, so that any of them may ring.
	Unread bool `json:"unread,omitempty"`
}

// FreezeBegan says that a person or an alarm froze the cluster or a NodePool, or that a freeze has changed.
type FreezeBegan struct {
	Head
	Freeze
}

// FreezeEnded says that a freeze has ended: by its time, by a person, or with its alarm.
type FreezeEnded struct {
	Head
	Freeze
}

// ReleaseHalted says that drift stops, because new nodes of a NodePool do worse than those before.
type ReleaseHalted struct {
	Head
	NodePool string `json:"nodePool"`
	// Release is the hash of what the nodes are made from. Reason says what they do worse.
	Release string `json:"release"`
	Reason  string `json:"reason"`
	// Since is when the release began, as in RFC 3339.
	Since string `json:"since"`
	// OldNodes wait for the release, and NewNodes have it.
	OldNodes int `json:"oldNodes"`
	NewNodes int `json:"newNodes"`
}

// DetailType is the event's detail-type.
func (ReleaseHalted) DetailType() string { return "Release Halted" }

// DetailType is the event's detail-type.
func (FreezeBegan) DetailType() string { return "Freeze Began" }

// DetailType is the event's detail-type.
func (FreezeEnded) DetailType() string { return "Freeze Ended" }

// DetailType is the event's detail-type.
func (NodeLaunched) DetailType() string { return "Node Launched" }

// DetailType is the event's detail-type.
func (NodeReady) DetailType() string { return "Node Ready" }

// DetailType is the event's detail-type.
func (NodeDrained) DetailType() string { return "Node Drained" }

// DetailType is the event's detail-type.
func (LaunchFailed) DetailType() string { return "Launch Failed" }

// DetailType is the event's detail-type.
func (PodsUnserved) DetailType() string { return "Pods Unserved" }

// DetailType is the event's detail-type.
func (SavingsFound) DetailType() string { return "Savings Found" }

// All returns an empty detail of each type.
func All() []Detail {
	return []Detail{
		NodeLaunched{}, NodeReady{}, NodeDrained{}, LaunchFailed{}, PodsUnserved{}, SavingsFound{},
		FreezeBegan{}, FreezeEnded{}, ReleaseHalted{},
	}
}

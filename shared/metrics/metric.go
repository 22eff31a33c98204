package metrics

import "slices"

const (
	// Namespace is the metrics' namespace in CloudWatch.
	Namespace = "Whittle"
	// ClusterDimension names the cluster on each metric.
	ClusterDimension = "Cluster"
	// MaximumSeries is how many series a cluster may have: CloudWatch bills each, 0.30 $ a month in us-east-1.
	// https://aws.amazon.com/cloudwatch/pricing/
	MaximumSeries = 20
)

// Name names a metric.
type Name string

// The metrics.
const (
	PodsPending            Name = "PodsPending"
	OldestPodPending       Name = "OldestPodPendingSeconds"
	PlanDollars            Name = "PlanDollarsPerHour"
	PlanBoundDollars       Name = "PlanBoundDollarsPerHour"
	Launches               Name = "Launches"
	LaunchSeconds          Name = "LaunchSeconds"
	LaunchFailures         Name = "LaunchFailures"
	Nodes                  Name = "Nodes"
	DollarsPerHour         Name = "DollarsPerHour"
	SavedDollars           Name = "SavedDollarsPerHour"
	CatalogAge             Name = "CatalogAgeSeconds"
	Interruptions          Name = "Interruptions"
	DisruptionSavedDollars Name = "DisruptionSavedDollarsPerHour"
	FailedMessages         Name = "FailedMessages"
	StoodBack              Name = "StoodBack"
	reasonOther                 = "Other"
	dimensionCapacity           = "CapacityType"
	dimensionDisrupted          = "Reason"
)

// Metric says what a metric means.
type Metric struct {
	Name Name
	// Unit is CloudWatch's: Count, Seconds or None.
	Unit string
	// Dimension is what tells its series apart beside the cluster, and Series are their values; both empty for one series.
	Dimension string
	Series    []string
	// Function writes it; Meaning is for people.
	Function, Meaning string
}

// All are the metrics there are.
func All() []Metric {
	return []Metric{
		{Name: PodsPending, Unit: "Count", Function: "provision", Meaning: "pods that wait for a node, at each tick"},
		{Name: OldestPodPending, Unit: "Seconds", Function: "provision", Meaning: "how long the one has waited that waits longest"},
		{Name: PlanDollars, Unit: "None", Function: "provision", Meaning: "dollars an hour of the nodes in a plan"},
		{Name: PlanBoundDollars, Unit: "None", Function: "provision", Meaning: "the least that any plan for the same pods could cost"},
		{Name: Launches, Unit: "Count", Function: "provision", Meaning: "instances launched"},
		{Name: LaunchSeconds, Unit: "Seconds", Function: "provision", Meaning: "from a NodeClaim's writing to its instance"},
		{Name: LaunchFailures, Unit: "Count", Function: "provision", Meaning: "NodeClaims that EC2 refused for another reason than a lack of capacity"},
		{
			Name: Nodes, Unit: "Count", Dimension: dimensionCapacity, Series: []string{"spot", "on-demand", "reserved"},
			Function: "lifecycle", Meaning: "NodeClaims with an instance, each minute",
		},
		{Name: DollarsPerHour, Unit: "None", Function: "lifecycle", Meaning: "what they cost, by the catalogue's prices"},
		{Name: SavedDollars, Unit: "None", Function: "lifecycle", Meaning: "what they cost less than the same instance types on demand"},
		{Name: CatalogAge, Unit: "Seconds", Function: "lifecycle", Meaning: "since the catalogue was read"},
		{Name: Interruptions, Unit: "Count", Function: "interrupt", Meaning: "nodes that EC2 has taken, or announced to take at once"},
		{
			// One value for each node: CloudWatch's SampleCount of it is how many nodes went.
			Name: DisruptionSavedDollars, Unit: "None", Dimension: dimensionDisrupted, Series: []string{"Empty", "Underutilized", "Drifted", reasonOther},
			Function: "disrupt", Meaning: "what the end of each node that is taken away or replaced saves; as many values as nodes",
		},
		{Name: FailedMessages, Unit: "Count", Function: "interrupt", Meaning: "events that failed and come back"},
		{Name: StoodBack, Unit: "Count", Function: "provision, disrupt, lifecycle, interrupt", Meaning: "invocations that did nothing because Karpenter acts in the cluster"},
	}
}

// definition of a metric; a name that is not among them has none.
func definition(name Name) Metric {
	all := All()
	if i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return all[i]
	}
	return Metric{Name: name, Unit: "None"}
}

package metrics

import "slices"

const (
	// Namespace is the metrics' namespace in CloudWatch.
	Namespace = "Whittle"
	// ClusterDimension is the dimension of every metric that names the cluster.
	ClusterDimension = "Cluster"
	// MaximumSeries is the number of series that a cluster may have under their current names.
	// CloudWatch bills each series: $0.30/month in us-east-1.
	// https://aws.amazon.com/cloudwatch/pricing/
	MaximumSeries = 21
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
	UnreadableMessages     Name = "UnreadableMessages"
	Standby                Name = "Standby"
	PoolNodes              Name = "NodePoolNodes"
	PoolDollars            Name = "NodePoolDollarsPerHour"
)

const (
	reasonOther         = "Other"
	dimensionCapacity   = "CapacityType"
	dimensionDisruption = "Reason"
	// NodePoolDimension is the dimension of the metrics of OfPools.
	NodePoolDimension = "NodePool"
	// MaximumPools is the number of NodePools that may have series of their own.
	MaximumPools = 20
)

// Detail says which metrics a cluster has.
type Detail string

const (
	DetailFull Detail = "full"
	// DetailFew is for the metrics of the alarms, which have values only while something is wrong.
	DetailFew Detail = "few"
	DetailOff Detail = "off"
)

// Has reports whether the metric is written.
func (d Detail) Has(m Metric) bool { return d == DetailFull || m.OfFailures || d == DetailFew && m.Few }

// Writes reports whether a value of the metric is written.
func (d Detail) Writes(m Metric, number float64) bool { return d == DetailFull || number >= m.From }

// Rare reports whether the metric has values only while something is wrong.
func (d Detail) Rare(m Metric) bool { return m.Rare || m.OfFailures || d != DetailFull && m.From > 0 }

// Series counts the series of a cluster under their current names, without those that have values only while
// something is wrong.
func (d Detail) Series() int {
	count := 0
	for _, m := range All() {
		if d.Has(m) && !d.Rare(m) {
			count += max(len(m.Series), 1)
		}
	}
	return count
}

// Metric describes a metric.
type Metric struct {
	Name Name
	// FormerName is an earlier name of the metric, or empty. The Recorder writes each value under
	// both names, so that alarms on the former name keep working.
	FormerName Name
	// Unit is CloudWatch's unit: Count, Seconds or None.
	Unit string
	// Dimension tells the metric's series apart, in addition to the cluster. Series are its values.
	// Both are empty for a metric with one series.
	Dimension string
	Series    []string
	// Few says that the metric is among the few of DetailFew: an alarm rings by it.
	Few bool
	// From is the smallest value that DetailFew writes. It is half of the alarm's threshold. CloudWatch bills a
	// series for the hours with values alone.
	From float64
	// Rare says that the metric has values only while something is wrong.
	Rare bool
	// OfFailures says that the metric has values only where something fails, and with every detail:
	// an alarm rings by it. CloudWatch bills it for the hours with values.
	OfFailures bool
	// Functions are the functions that write the metric.
	Functions []string
	// Meaning is a sentence for people.
	Meaning string
}

// All returns every metric.
func All() []Metric {
	return []Metric{
		{Name: PodsPending, Unit: "Count", Functions: []string{"provision"},
			Meaning: "Pods that wait for a node, at each tick, without those whose NodePools sleep."},
		{Name: OldestPodPending, Unit: "Seconds", Few: true, From: 300, Functions: []string{"provision"},
			Meaning: "Waiting time of the pod that has waited longest, without the sleep of its NodePools. `few` writes it " +
				"from 5 minutes on."},
		{Name: PlanDollars, Unit: "None", Functions: []string{"provision"},
			Meaning: "Price of the new nodes of a plan, in US dollars an hour."},
		{Name: PlanBoundDollars, Unit: "None", Functions: []string{"provision"},
			Meaning: "Lower bound of the price of any plan for the same pods, in US dollars an hour, less the plan's risk."},
		{Name: Launches, Unit: "Count", Functions: []string{"provision"}, Meaning: "Launched instances."},
		{Name: LaunchSeconds, Unit: "Seconds", Functions: []string{"provision"},
			Meaning: "Time from the creation of a NodeClaim to its instance."},
		{Name: LaunchFailures, Unit: "Count", Few: true, Rare: true, Functions: []string{"provision"},
			Meaning: "NodeClaims that EC2 refused for a reason other than a lack of capacity."},
		{Name: Nodes, Unit: "Count", Dimension: dimensionCapacity,
			Series: []string{"spot", "on-demand", "reserved"}, Functions: []string{"lifecycle"},
			Meaning: "NodeClaims with an instance, each minute."},
		{Name: DollarsPerHour, Unit: "None", Functions: []string{"lifecycle"},
			Meaning: "Price of these nodes by the catalogue, with extras, in US dollars an hour."},
		{Name: SavedDollars, Unit: "None", Functions: []string{"lifecycle"},
			Meaning: "Difference of the spot instances to the on-demand price of the same types, in US dollars an hour."},
		{Name: CatalogAge, Unit: "Seconds", Few: true, From: 12 * 3600, Functions: []string{"lifecycle"},
			Meaning: "Age of the catalogue. `few` writes it from 12 hours on."},
		{Name: Interruptions, Unit: "Count", Functions: []string{"interrupt"},
			Meaning: "Nodes that EC2 stopped, or announced to stop at once."},
		{Name: DisruptionSavedDollars, Unit: "None", Dimension: dimensionDisruption,
			Series: []string{"Empty", "Underutilized", "Drifted", reasonOther}, Functions: []string{"disrupt"},
			Meaning: "Savings from each removed or replaced node, in US dollars an hour. " +
				"The sample count is the number of nodes."},
		{Name: FailedMessages, Unit: "Count", OfFailures: true,
			Functions: []string{"provision", "disrupt", "lifecycle", "interrupt"},
			Meaning: "Messages that failed alone and return to the queue, where any failed, and events for `eventBus` that " +
				"IAM refuses."},
		{Name: UnreadableMessages, Unit: "Count", OfFailures: true,
			Functions: []string{"provision", "disrupt", "lifecycle", "interrupt"},
			Meaning:   "Those of them that the function cannot read. Another try does not help."},
		{Name: Standby, FormerName: "StoodBack", Unit: "Count", Few: true, Rare: true,
			Functions: []string{"provision", "disrupt", "lifecycle", "interrupt"},
			Meaning:   "Invocations that did nothing because Karpenter acts in the cluster."},
	}
}

// OfPools returns the metrics of single NodePools. A cluster has a series of each for every pool that the
// setting nodePoolMetrics names, with every detail, and no others.
func OfPools() []Metric {
	return []Metric{
		{Name: PoolNodes, Unit: "Count", Dimension: NodePoolDimension, Functions: []string{"lifecycle"},
			Meaning: "NodeClaims of the pool with an instance, each minute."},
		{Name: PoolDollars, Unit: "None", Dimension: NodePoolDimension, Functions: []string{"lifecycle"},
			Meaning: "Price of these nodes by the catalogue, with extras, in US dollars an hour."},
	}
}

// definition returns the metric of a name. An unknown name has the unit None and one series.
func definition(name Name) Metric {
	all := slices.Concat(All(), OfPools())
	if i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return all[i]
	}
	return Metric{Name: name, Unit: "None"}
}

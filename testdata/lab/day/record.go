package day

import "time"

// Record is what was seen of a day.
type Record struct {
	Began, Ended time.Time
	// Changed is the time of the image change.
	Changed   time.Time
	Pods      []Pod
	Evictions []Eviction
	Instances []Instance
	Samples   []Sample
	// Requests counts the autoscaler's requests to the API server without watches, and Calls its
	// calls to AWS.
	Requests, Calls int
	// Settled is how long the day was over until every pod ran. Late says what did not run within the
	// patience; empty if everything did.
	Settled time.Duration
	Late    string
}

// Pod is one pod of the workload. A zero time means that it has not happened.
type Pod struct {
	Name     string
	Workload string // the label app
	Created  time.Time
	Bound    time.Time
	Gone     time.Time
}

// Eviction is the removal of a pod by the autoscaler.
type Eviction struct {
	At  time.Time
	Pod string // the name
}

// Instance is one instance that was launched for the day.
type Instance struct {
	ID           string
	Pool         string
	PricePerHour float64
	Launched     time.Time
	Ended        time.Time // zero for one that still runs
	// Old means that it has the image from before the change.
	Old bool
	// Served means that a pod of the workload was bound to its node.
	Served bool
	// Replaces means that its claim replaces others.
	Replaces bool
	// For has the workloads that its claim was made for.
	For []string
}

// Sample is the state of the cluster at one moment.
type Sample struct {
	At time.Time
	// Processors is those of all live instances, Requested those that bound pods ask for.
	Processors, Requested float64
	// Empty counts the live instances without a pod of the workload.
	Empty int
	// Limited counts the bound pods whose NodePool has limits.
	Limited int
}

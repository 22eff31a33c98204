package commitment

import (
	"strings"
	"time"
)

// Facts are the commitments of an account in one region, as they were read.
type Facts struct {
	// Time is the time at which they were read.
	Time     time.Time          `json:"time"`
	Reserved []ReservedInstance `json:"reserved,omitempty"`
	Plans    []SavingsPlan      `json:"plans,omitempty"`
	// OnDemand are the on-demand prices of the region's instance types in dollars an hour. Without commitments there
	// are none.
	OnDemand map[string]float64 `json:"onDemand,omitempty"`
}

// ReservedInstance is one purchase of Reserved Instances, by the fields of EC2's DescribeReservedInstances
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReservedInstances.html).
type ReservedInstance struct {
	ID           string `json:"id"`
	InstanceType string `json:"instanceType"`
	Count        int    `json:"count"`
	// Zone is the zone's name; empty for a purchase that holds in the whole region.
	Zone string `json:"zone,omitempty"`
	// Platform is the product description without "(Amazon VPC)": empty for Linux/UNIX.
	Platform string `json:"platform,omitempty"`
	// Dedicated is set for dedicated tenancy.
	Dedicated bool      `json:"dedicated,omitempty"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	// PerHour is what all of them cost each hour, used or not, with their share of what was paid before. In the
	// currency of the account.
	PerHour float64 `json:"perHour,omitempty"`
}

// SavingsPlan is one Savings Plan, by the fields of DescribeSavingsPlans
// (https://docs.aws.amazon.com/savingsplans/latest/APIReference/API_SavingsPlan.html).
type SavingsPlan struct {
	ID string `json:"id"`
	// Family is the instance family of an EC2 Instance Savings Plan; empty for a Compute Savings Plan.
	Family string `json:"family,omitempty"`
	// PerHour is the commitment: what usage at the plan's rates it pays for each hour.
	PerHour float64   `json:"perHour"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	// Rates are the plan's rates for Linux/UNIX with shared tenancy in the region, in dollars an hour, by instance
	// type. They are those of its purchase, and never change.
	Rates map[string]float64 `json:"rates,omitempty"`
}

// Instance is an instance that runs in the account and region, on demand. Spot instances and those of capacity blocks
// take nothing of commitments.
type Instance struct {
	ID   string
	Type string
	Zone string
	// Platform is empty for Linux/UNIX, else the platform details.
	Platform  string
	Dedicated bool
	// Cluster is the cluster whose node it is; empty for an instance of no cluster that buys its
	// nodes by plans.
	Cluster string
	// Own is set for a node of this cluster.
	Own bool
}

// endsSoon is the time before a commitment's end from which it counts for nothing: a node outlives it.
const endsSoon = time.Hour

// holds reports whether a commitment of these times counts now.
func holds(start, end, now time.Time) bool {
	return !now.Before(start) && (end.IsZero() || now.Before(end.Add(-endsSoon)))
}

// PlatformOf is the platform of a product description or of platform details: empty for Linux/UNIX. Reserved
// Instances of old have "(Amazon VPC)" behind it, which says nothing.
func PlatformOf(description string) string {
	platform := strings.TrimSpace(strings.TrimSuffix(description, "(Amazon VPC)"))
	if platform == "Linux/UNIX" {
		return ""
	}
	return platform
}

// familyOf is the part of the instance type before the point.
func familyOf(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	return family
}

// Package unkind is the mode in which the local AWS behaves as badly as AWS's documents allow. Tests,
// crash and chaos use it. `make run`, `make up` and `make compare` do not.
//
// A Mode has the settings of each service. Where AWS documents no bound, the settings take the worst
// that people report: the ledger in the README of testdata/lab lists the assumptions. All choices
// depend on the mode's seed.
//
//	mode := unkind.Mode{Seed: 1, Boot: 4 * time.Second}
//	instances, err := ec2.New(mode.EC2(ec2.Config{AccountID: account, Region: region}))
//	people.SetPropagation(mode.Propagation())
package unkind

import (
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/eventbridge"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/machine"
	"github.com/whittle-dev/whittle/testdata/lab/scheduler"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Mode makes the settings. Every field may be zero.
type Mode struct {
	// Seed makes all choices.
	Seed uint64
	// Boot is the mean time of a machine from launch to its kubelet's start. It scales EC2's delays:
	// a world whose machines boot in 6 s has a tenth of EC2's delays, and 0 means EC2's own.
	Boot time.Duration
	// Now is the time that brings changes to EC2's and IAM's readers. Nil means time.Now. The states
	// of instances follow the machine's own clock.
	Now func() time.Time
}

// The times on AWS.
const (
	leastBoot, meanBoot, mostBoot = 30 * time.Second, time.Minute, 90 * time.Second
	// describeLag is how far describe calls are behind.
	describeLag = time.Minute
	// forget is how long EC2 still shows a terminated instance, instead of an hour. It is not scaled,
	// because the functions look no more often in a fast world.
	forget = time.Minute
	// templateLag is how long EC2 may refuse launches with a new launch template.
	templateLag = 10 * time.Second
	// nameLag is how long an instance may run before EC2 tells its private DNS name.
	nameLag = 10 * time.Second
	// shuttingDown is how long an instance takes to end, pending how long it takes to run.
	shuttingDown, stopping, pending = 3 * time.Minute, time.Minute, 10 * time.Second
	// leastPropagation and mostPropagation are the delays of IAM.
	leastPropagation, mostPropagation = 5 * time.Second, 20 * time.Second
	// accessDelay and accessSpread are those of EKS access entries.
	accessDelay, accessSpread = 5 * time.Second, 15 * time.Second
	// jitter delays schedules.
	jitter = 59 * time.Second
	// mostLate delays messages and events.
	mostLate = 30 * time.Second
	// burstEvery has one burst of refusals, which takes burst.
	burstEvery, burst = time.Minute, 5 * time.Second
)

// scaled shrinks a time of EC2 as the machines' boot is shrunk.
func (m Mode) scaled(d time.Duration) time.Duration {
	if m.Boot == 0 {
		return d
	}
	return time.Duration(float64(d) * float64(m.Boot) / float64(meanBoot))
}

// EC2 makes a service's settings unkind: describe calls are behind in both directions, tags come
// after their instance, repeated launches name no instances, instances end slowly, and calls are
// refused in bursts. Other fields of the settings stay.
func (m Mode) EC2(c ec2.Config) ec2.Config {
	c.Consistency = m.Consistency()
	c.Bursts = ec2.Bursts{Seed: m.Seed, Every: burstEvery, For: m.scaled(burst)}
	c.SilentRepeats = true
	c.Timing.Pending, c.Timing.ShuttingDown, c.Timing.Stopping = m.scaled(pending), m.scaled(shuttingDown),
		m.scaled(stopping)
	c.Now = m.Now
	return c
}

// Consistency is the lag of describe calls.
func (m Mode) Consistency() ec2.Consistency {
	return ec2.Consistency{
		Seed: m.Seed, Lag: m.scaled(describeLag), TemplateLag: m.scaled(templateLag), NameLag: m.scaled(nameLag),
		Forget: forget,
	}
}

// Machines makes the boots of machines differ.
func (m Mode) Machines(t machine.Timing) machine.Timing {
	t.Boot, t.BootMost = m.scaled(leastBoot), m.scaled(mostBoot)
	return t
}

// Propagation is the delay of IAM, which is not scaled.
func (m Mode) Propagation() identity.Propagation {
	return identity.Propagation{Seed: m.Seed, Least: leastPropagation, Most: mostPropagation, Now: m.Now}
}

// EKS lets one API server know a new or deleted access entry seconds before the other. The delay is
// not scaled.
func (m Mode) EKS(c eks.Config) eks.Config {
	c.AccessDelay, c.AccessSpread = accessDelay, accessSpread
	return c
}

// Jitter is the delay of schedules, which is not scaled.
func (m Mode) Jitter() scheduler.Jitter { return scheduler.Jitter{Seed: m.Seed, Most: jitter} }

// Delivery is that of SQS: in any order, some messages twice, some late.
func (m Mode) Delivery() sqs.Delivery {
	return sqs.Delivery{Seed: m.Seed, Twice: 0.1, Late: 0.1, MostLate: m.scaled(mostLate), Unordered: true}
}

// Events is the delivery of EventBridge: some events twice, some late.
func (m Mode) Events() eventbridge.Delivery {
	return eventbridge.Delivery{Seed: m.Seed, Twice: 0.1, Late: 0.1, MostLate: m.scaled(mostLate)}
}

// Faults are those of the network, for the calls of roles. The operator, the roles of the cdk command
// line and the installation are spared: an answer that is lost for good ends the deployment, which a
// person repeats.
func (m Mode) Faults() wire.Faults {
	return wire.Faults{
		Seed: m.Seed, Dropped: 0.01, Lost: 0.01,
		Applies: func(c *wire.Call) bool {
			role := c.Caller.RoleARN
			return role != "" && !strings.Contains(role, ":role/cdk-") && !strings.Contains(role, "InstallRole")
		},
	}
}

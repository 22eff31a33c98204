package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// repairPolicy says what of a node's conditions is a sickness, and how long it is borne.
type repairPolicy struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	tolerated time.Duration
}

// repairPolicies are Karpenter's for AWS: the kubelet's own word, and those of the EKS node
// monitoring agent, which are there only where it runs.
// https://karpenter.sh/docs/concepts/disruption/#node-auto-repair
func repairPolicies() []repairPolicy {
	return []repairPolicy{
		{corev1.NodeReady, corev1.ConditionFalse, 30 * time.Minute},
		{corev1.NodeReady, corev1.ConditionUnknown, 30 * time.Minute},
		{"AcceleratedHardwareReady", corev1.ConditionFalse, 10 * time.Minute},
		{"StorageReady", corev1.ConditionFalse, 30 * time.Minute},
		{"NetworkingReady", corev1.ConditionFalse, 30 * time.Minute},
		{"KernelReady", corev1.ConditionFalse, 30 * time.Minute},
		{"ContainerRuntimeReady", corev1.ConditionFalse, 30 * time.Minute},
	}
}

// checkTolerated is how long a failed status check of EC2 is borne: Karpenter's time.
const checkTolerated = 2 * time.Minute

// unhealthyPercent is the most of a pool's nodes that may be unhealthy, rounded up, for
// any of them to be repaired: where more are, their hardware is not what is wrong.
const unhealthyPercent = 20

// Impairment is a status check that EC2 says an instance fails.
type Impairment struct {
	Check string // SystemStatus or InstanceStatus
	Since time.Time
}

// Patient is a node with its claim and, if EC2 says so, its failed status check.
type Patient struct {
	Claim      *api.NodeClaim
	Node       *corev1.Node
	Impairment *Impairment
}

// Sickness is what is wrong with a node.
type Sickness struct {
	Condition string // the node's condition, or the status check of its instance
	Status    string // what it is, such as False or impaired
	Since     time.Time
	tolerated time.Duration
	// ByEC2 tells that it is a status check.
	ByEC2 bool
}

// String is the sickness as a log or an event names it.
func (s Sickness) String() string {
	return fmt.Sprintf("%s is %s since %s", s.Condition, s.Status, s.Since.UTC().Format(time.RFC3339))
}

// sicknesses are what is wrong with the node, borne or not.
func (p *Patient) sicknesses() []Sickness {
	var found []Sickness
	for _, policy := range repairPolicies() {
		for _, condition := range p.Node.Status.Conditions {
			if condition.Type == policy.condition && condition.Status == policy.status {
				found = append(found, Sickness{
					Condition: string(condition.Type), Status: string(condition.Status), Since: condition.LastTransitionTime.Time, tolerated: policy.tolerated,
				})
			}
		}
	}
	if p.Impairment != nil {
		found = append(found, Sickness{Condition: p.Impairment.Check, Status: "impaired", Since: p.Impairment.Since, tolerated: checkTolerated, ByEC2: true})
	}
	return found
}

// Ward is one pool's nodes, as far as their health goes.
type Ward struct {
	Pool             string // empty for claims without a pool
	Nodes, Unhealthy int
	Waiting          int // those whose repair is due and does not happen
}

// allowed is the most nodes that may be unhealthy.
func (w Ward) allowed() int { return (w.Nodes*unhealthyPercent + 99) / 100 }

// String says why no node of the pool is repaired.
func (w Ward) String() string {
	return fmt.Sprintf("%d of %d nodes are unhealthy, which is more than %d%%: %d of them stay until no more than %d are unhealthy",
		w.Unhealthy, w.Nodes, unhealthyPercent, w.Waiting, w.allowed())
}

// Repairs decides which nodes are to be replaced because they are sick: those that have
// been so for longer than is borne, by the names of their claims, unless more than a fifth
// of their pool's nodes are sick, for however long. Blocked are the pools of which a node
// stays for that. Nodes whose end has been ordered are not repaired, and count.
// Karpenter asks no disruption budget, and nor does this.
func Repairs(patients []Patient, now time.Time) (due map[string]Sickness, blocked []Ward) {
	wards := map[string]*Ward{}
	due = map[string]Sickness{}
	var overdue []*api.NodeClaim
	for i := range patients {
		patient := &patients[i]
		name := patient.Claim.Labels[api.NodePoolLabelKey]
		ward := wards[name]
		if ward == nil {
			ward = &Ward{Pool: name}
			wards[name] = ward
		}
		ward.Nodes++
		sicknesses := patient.sicknesses()
		if len(sicknesses) == 0 {
			continue
		}
		ward.Unhealthy++
		if patient.Claim.DeletionTimestamp != nil {
			continue
		}
		for _, sickness := range sicknesses {
			if now.Sub(sickness.Since) >= sickness.tolerated {
				due[patient.Claim.Name] = sickness
				overdue = append(overdue, patient.Claim)
				break
			}
		}
	}
	// Claims without a pool are judged by the whole cluster.
	if alone := wards[""]; alone != nil {
		*alone = Ward{}
		for i := range patients {
			alone.Nodes++
			if len(patients[i].sicknesses()) > 0 {
				alone.Unhealthy++
			}
		}
	}
	for _, claim := range overdue {
		ward := wards[claim.Labels[api.NodePoolLabelKey]]
		if ward.Unhealthy <= ward.allowed() {
			continue
		}
		delete(due, claim.Name)
		ward.Waiting++
	}
	for _, ward := range wards {
		if ward.Waiting > 0 {
			blocked = append(blocked, *ward)
		}
	}
	slices.SortFunc(blocked, func(a, b Ward) int { return cmp.Compare(a.Pool, b.Pool) })
	return due, blocked
}

package simulate

import (
	"fmt"

	"github.com/whittle-dev/whittle/testdata/lab/laws"
)

// Laws are the laws of the simulation, besides those of package laws: what functions may order, and what goes
// on while work keeps coming.
func Laws() []laws.Law {
	said := []struct{ name, says string }{
		{"claimed-soon", "An instance lacks a claim for ten minutes at most."},
		{"released-last", "A claim goes only when its instance has ended."},
		{"alone", "Provision and disrupt change no node while another invocation has their Lease."},
		{"replaced-first", "Disrupt ends a node only when its replacements are initialized."},
		{"protected", "Disrupt ends no node with a pod that must not be disrupted."},
		{"within-budget", "Disrupt ends no more nodes of a pool at a time than its budget allows."},
		{"budget-of-pods", "No function deletes a pod whose eviction its disruption budget forbids, while its machine runs."},
		{"admitted", "A kubelet admits each pod that a function binds to its node."},
		{"machine-knows", "No function removes a pod at once while its machine runs."},
		{"unmounted-first", "Lifecycle ends no running instance with a volume, before the end of its grace."},
		{"detached-after-unmount", "A volume is detached from a running machine only when its kubelet has unmounted it."},
		{"plans-only", "No function writes about the pods of CapacityBuffers, which exist in plans only."},
		{"static-stays", "Provision deletes no claim of a static pool that the pool needs."},
		{"frozen-stays", "Disrupt ends no node by choice that a person froze, and asks just before."},
		{"releases-bake", "Disrupt replaces one drifted node at a time until a new one has baked, in a pool with stages."},
		{"releases-halt", "Disrupt ends no drifted node of a pool whose release has halted."},
		{"room-stays", "A request that was provisioned does not fail."},
		{"pods-run", "At rest, each pod that can have a place runs, and each that was deleted has gone."},
		{"static-count", "At rest, a static pool has as many nodes as it asks for, unless its last ones never joined."},
		{"room-ahead", "At rest, nodes have room for CapacityBuffers."},
		{"requests-end", "At rest, no request waits, and no node that was launched for one is idle."},
		{"letters-end", "At rest, no message is a dead letter."},
		{"empties-go", "An empty node goes within its pool's time and two minutes, while work keeps coming."},
		{"drift-moves", "While a node that drifted, or that AWS takes within a week, may go, one goes in ten minutes."},
		{"announced-leave", "A node whose instance AWS takes within the hour leaves within three minutes."},
		{"failed-leave", "A node whose hardware has failed is given up within twelve minutes and the time of a boot."},
		{"ready-joins", "A ready node is initialized within a minute."},
		{"steered-in-part", "Not all nodes of a pool have the soft taint for more than three minutes."},
		{"as-cheap-as-at-rest", "While work keeps coming and pools get nodes, the nodes cost at most 5 % more than at rest."},
		{"nothing-in-vain", "No pod gets more than three nodes within an hour that end without a pod."},
		{"nothing-undone", "Consolidation removes no node that was launched for pods while nothing has changed."},
		{"proposals-succeed", "No more than six proposals for a node are rejected one after another while its pods stay."},
	}
	var all []laws.Law
	for _, one := range said {
		all = append(all, laws.Law{Name: one.name, Says: one.says})
	}
	return all
}

// breaks notes a breach of a law, which ends the simulation.
func (r *Run) breaks(law, format string, arguments ...any) {
	r.violate("%s: %s", law, fmt.Sprintf(format, arguments...))
}

// named puts the name of the law in front of each breach.
func named(law string, breaches []string) []string {
	for i := range breaches {
		breaches[i] = law + ": " + breaches[i]
	}
	return breaches
}

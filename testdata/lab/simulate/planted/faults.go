// Package planted has faults that Whittle once had, or must never have, as replacements in its source. The
// simulation has to find each.
package planted

import "github.com/whittle-dev/whittle/testdata/lab/simulate/overlay"

// Fault is one fault.
type Fault struct {
	// Name is the one of the command, What for people, and Law the one that finds it.
	Name, What, Law string
	Replacements    []overlay.Replacement
}

// Faults returns all planted faults.
func Faults() []Fault {
	return []Fault{
		{
			Name: "release-at-shutting-down", Law: "released-last",
			What: "lifecycle releases a node and its claim while the instance shuts down",
			Replacements: []overlay.Replacement{{
				File: "functions/lifecycle/nodeclaim/halted.go",
				Old:  "return instance.State == stateTerminated\n\t}\n\treturn p.absent()",
				New:  "return instance.isEnding()\n\t}\n\treturn p.absent()",
			}},
		},
		{
			Name: "new-pods-hold-every-node", Law: "empties-go",
			What: "a pod that began to wait a moment ago stops every removal of an empty node",
			Replacements: []overlay.Replacement{{
				File: "shared/disruption/empty.go", Old: "\tdecided.remove(s, pools, now)\n",
				New: "\tif len(s.Recent(now)) == 0 {\n\t\tdecided.remove(s, pools, now)\n\t}\n",
			}},
		},
		{
			Name: "no-search-beside-new-pods", Law: "as-cheap-as-at-rest",
			What: "a pod that began to wait a moment ago stops every search for nodes to consolidate",
			Replacements: []overlay.Replacement{{
				File: "functions/disrupt/pass.go", Old: "\tif !decide.Searches(now) || p.settled",
				New: "\tif len(p.fleet.Seen.Recent(now)) > 0 || !decide.Searches(now) || p.settled",
			}},
		},
		{
			Name: "bound-despite-taints", Law: "admitted",
			What: "pods are bound while the node has the NoExecute taint, at which nothing looks",
			Replacements: []overlay.Replacement{{
				File: "shared/binding/binding.go", Old: "\treturn !scheduling.ToleratesAll([]corev1.Taint{*taint}, tolerations)\n",
				New: "\treturn false\n",
			}, {
				File: "functions/lifecycle/nodeclaim/bind.go", Old: "api.Reservation{Since: p.now}.Taint())\n",
				New: "api.Reservation{Since: p.now}.Taint(), api.UnregisteredNoExecuteTaint())\n",
			}, {
				File: "functions/lifecycle/nodeclaim/bind.go", Old: "slices.Clone(node.Spec.Taints), isUnregistered)",
				New: "slices.Clone(node.Spec.Taints), func(taint corev1.Taint) bool {\n" +
					"\t\treturn isUnregistered(taint) && taint.Effect != corev1.TaintEffectNoExecute\n\t})",
			}},
		},
		{
			Name: "every-node-steered", Law: "steered-in-part",
			What: "all nodes of a pool get the soft taint",
			Replacements: []overlay.Replacement{{
				File: "shared/disruption/steering.go", Old: "\tsteeredPart, heldPart = 0.5, 0.6\n",
				New: "\tsteeredPart, heldPart = 1.0, 1.0\n",
			}},
		},
		{
			Name: "steered-without-wish", Law: "steered-by-wish",
			What: "nodes of pools that do not ask for it get the soft taint",
			Replacements: []overlay.Replacement{{
				File: "shared/disruption/steering.go", Old: "!SteersPods(pool) || !pool.ConsolidatesEmpty()",
				New: "!pool.ConsolidatesEmpty()",
			}},
		},
		{
			Name: "limits-count-what-leaves", Law: "drift-moves",
			What: "a pool at its limit has no room for what replaces its nodes",
			Replacements: []overlay.Replacement{{
				File: "shared/scheduling/leaving.go", Old: "\treturn !IsLeaving(claim, node) || claim != nil &&",
				New: "\treturn true || claim != nil &&",
			}},
		},
		{
			Name: "late-replacements-deleted", Law: "drift-moves",
			What: "a replacement that boots for more than ten minutes is deleted, and launched again later",
			Replacements: []overlay.Replacement{{
				File: "shared/disruption/replacement.go",
				Old:  "\t\told := now.Sub(replacement.Claim.CreationTimestamp.Time) >= giveUpAfter\n",
				New:  "\t\told := true\n",
			}, {
				File: "shared/disruption/replacement.go", Old: "\treturn func(waiting []*Node) time.Duration {\n",
				New: "\treturn func(waiting []*Node) time.Duration {\n" +
					"\t\tif len(waiting) >= 0 {\n\t\t\treturn replaceWithin\n\t\t}\n",
			}},
		},
		{
			Name: "gangs-bought-in-part", Law: "nothing-in-vain",
			What: "nothing remembers that EC2 had room for a part of a gang, so that the part is launched again and again",
			Replacements: []overlay.Replacement{{
				File: "shared/misfit/misfits.go", Old: "if claim != nil && (len(misfits)",
				New: "if claim != nil && now.IsZero() && (len(misfits)",
			}},
		},
		{
			Name: "refusals-take-slots", Law: "what-ends-goes",
			What: "an eviction that is refused waits as long as the API server likes, and the same drains have the few slots",
			Replacements: []overlay.Replacement{{
				File: "shared/cluster/core.go", Old: "send(ctx, request.MaxRetries(0), path, nil)",
				New: "send(ctx, request, path, nil)",
			}, {
				File: "functions/lifecycle/pass.go", Old: "\tevictWithin = 3 * time.Second\n",
				New: "\tevictWithin = 15 * time.Second\n",
			}, {
				File: "functions/lifecycle/pass.go", Old: "\tbeside = parallel / 4\n", New: "\tbeside = 1\n",
			}, {
				File: "functions/lifecycle/read.go", Old: "\tparallel = 16\n", New: "\tparallel = 1\n",
			}, {
				File: "functions/lifecycle/decide.go", Old: "\trandom.Shuffle(len(drains), func(i, j int) {",
				New: "\trandom.Shuffle(0, func(i, j int) {",
			}},
		},
		{
			Name: "preferences-undone", Law: "nothing-undone",
			What: "consolidation removes the nodes that provision has launched for preferences and spreads",
			Replacements: []overlay.Replacement{{
				File: "shared/consolidation/evaluation/preferences.go",
				Old:  "return slices.ContainsFunc(leaving, func(n *state.Node) bool {",
				New:  "return len(leaving) > 1000 && slices.ContainsFunc(leaving, func(n *state.Node) bool {",
			}},
		},
		{
			Name: "replacement-not-awaited", Law: "replaced-first",
			What: "disrupt ends a node before its replacement is initialized",
			Replacements: []overlay.Replacement{{
				File: "shared/disruption/replacement.go", Old: "case len(progress.waiting) == 0:", New: "case true:",
			}},
		},
		{
			Name: "limits-not-checked-again", Law: "within-limits",
			What: "provision launches claims that exceed a limit together with those of another writer",
			Replacements: []overlay.Replacement{{
				File: "functions/provision/pass.go",
				Old:  "range intent.Withdrawals(r.view.Objects.NodePools, snapshot, types, r.now()) {",
				New:  "range intent.Withdrawals(r.view.Objects.NodePools, snapshot, types, r.now())[:0] {",
			}},
		},
		{
			Name: "another-token-each-time", Law: "one-instance",
			What: "a launch that is tried again has another client token",
			Replacements: []overlay.Replacement{{
				File: "shared/fleet/launch.go", Old: "ClientToken: aws.String(request.ClientToken),",
				New: "ClientToken: aws.String(fmt.Sprintf(\"%.40s%d\", request.ClientToken, time.Now().UnixNano())),",
			}, {
				File: "shared/fleet/launch.go", Old: "\t\"fmt\"\n", New: "\t\"fmt\"\n\t\"time\"\n",
			}},
		},
		{
			Name: "death-by-tag-filter", Law: "released-last",
			What: "lifecycle takes an instance for gone that EC2's list by tags leaves out",
			Replacements: []overlay.Replacement{{
				File: "functions/lifecycle/decide.go", Old: "byID[id], from.described.absent[id]",
				New: "byID[id], from.described.absent[id] || from.listed.answered && len(byID[id]) == 0",
			}, {
				File: "functions/lifecycle/decide.go",
				Old:  "if instance, described := from.described.found[id]; described {",
				New:  "if instance, described := from.described.found[id]; described && !from.listed.answered {",
			}, {
				File: "functions/lifecycle/nodeclaim/halted.go",
				Old:  "return p.view.Absent && !ready && p.launchedFor() >= surelyKnownWithin",
				New:  "return p.view.Absent && !ready",
			}, {
				File: "functions/lifecycle/nodeclaim/halted.go", Old: "p.do(RequireHalted{InstanceID: id})", New: "_ = id",
			}},
		},
		{
			Name: "lease-not-asked", Law: "alone",
			What: "provision launches without its Lease",
			Replacements: []overlay.Replacement{{
				File: "shared/cluster/lease.go",
				Old:  "return now.Before(spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds)*time.Second + clockLeeway))",
				New:  "return false",
			}},
		},
		{
			Name: "evictions-by-deletion", Law: "budget-of-pods",
			What: "lifecycle deletes pods where it should ask for their eviction",
			Replacements: []overlay.Replacement{{
				File: "functions/lifecycle/evictions.go", Old: "err := e.client.Evict(inTime, pod)",
				New: "err := e.client.DeletePod(inTime, pod, nil)",
			}},
		},
		{
			Name: "volumes-not-awaited", Law: "unmounted-first",
			What: "lifecycle ends an instance before its volumes are detached",
			Replacements: []overlay.Replacement{{
				File: "functions/lifecycle/nodeclaim/volumes.go", Old: "if len(attached) > 0 {", New: "if len(attached) > 1000 {",
			}},
		},
		{
			Name: "writes-after-the-lease", Law: "alone",
			What: "disrupt goes on when its Lease has ended, which lasts 5 s",
			Replacements: []overlay.Replacement{{
				File: "functions/disrupt/handler.go", Old: "deadline := now.Add(left + function.Reserve)",
				New: "_ = left\n\tdeadline := now.Add(5 * time.Second)",
			}, {
				File: "shared/cluster/fence.go", Old: "if f.released.Load() || f.left() <= 0 {",
				New: "if f.released.Load() {",
			}, {
				File: "shared/cluster/fence.go", Old: "context.WithTimeout(ctx, f.left())",
				New: "context.WithTimeout(ctx, f.left()+time.Hour)",
			}},
		},
		{
			Name: "lost-mark-not-counted", Law: "within-budget",
			What: "a node whose mark was written without an answer takes of no budget in the same pass",
			Replacements: []overlay.Replacement{{
				File: "functions/disrupt/perform.go", Old: "\t\t\tp.assumeMarked(task)\n", New: "",
			}},
		},
		{
			Name: "shrink-on-a-cached-nodepool", Law: "static-stays",
			What: "provision shrinks a static pool by what the watch cache shows",
			Replacements: []overlay.Replacement{{
				File: "functions/provision/shrink.go", Old: "sight.Cluster{Client: r.client.Consistent()}",
				New: "sight.Cluster{Client: r.client}",
			}, {
				File: "shared/sight/reader.go", Old: "c.Client, c.Consistent().NodePools)",
				New: "c.Client, c.Client.NodePools)",
			}},
		},
		{
			Name: "freeze-read-once", Law: "frozen-stays",
			What: "disrupt looks at what people have frozen only at the beginning of a pass",
			Replacements: []overlay.Replacement{{
				File: "functions/disrupt/perform.go", Old: "if task.Voluntary() && (i == 0 || decide.TakesEffect(step)) {",
				New: "if task.Voluntary() && i < 0 {",
			}},
		},
		{
			Name: "stages-skipped", Law: "releases-bake",
			What: "drift goes by the budgets alone, whatever the release of the pool does",
			Replacements: []overlay.Replacement{{
				File: "shared/disruption/candidates.go", Old: "if candidate.staged() && !a.gate(candidate).Allows(zone) {",
				New: "if candidate.staged() && zone == \"none\" {",
			}},
		},
		{
			Name: "silence-taken-for-death", Law: "in-service",
			What: "lifecycle takes an instance for halted whose kubelet is silent",
			Replacements: []overlay.Replacement{{
				File: "functions/lifecycle/nodeclaim/halted.go",
				Old:  "return instance.State == stateTerminated\n",
				New:  "return instance.State == stateTerminated || p.node != nil && !disruption.IsReady(p.node)\n",
			}, {
				File: "functions/lifecycle/nodeclaim/halted.go", Old: "return instance.IsHalted()",
				New: "return instance.IsHalted() || p.node != nil && !disruption.IsReady(p.node)",
			}},
		},
	}
}

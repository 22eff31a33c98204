package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/plan"
	vector "github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// About explains a node, a NodeClaim or a NodePool.
type About struct {
	FormatVersion int `json:"formatVersion"`
	// Kind is Node, NodeClaim or NodePool.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// PricePerHour is in $/h, and zero if it is unknown. ExtrasPerHour is the part of it that nodes cost
	// beside their instances.
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour"`
	// RiskPerHour is what interruptions cost beside PricePerHour. It is on no bill.
	RiskPerHour float64 `json:"riskPerHour,omitempty"`
	// Topics are in the order in which people read them.
	Topics []Topic `json:"topics"`
}

// Topic is what is known about one question. Its lines are sentences for people.
type Topic struct {
	Question string   `json:"question"`
	Lines    []string `json:"lines"`
}

func (a *About) add(question string, lines ...string) {
	if len(lines) > 0 {
		a.Topics = append(a.Topics, Topic{question, lines})
	}
}

// AboutNode explains the node of a name, or the one that a NodeClaim or an instance of the name stands
// for. Pools are all of the cluster, those without a place in the snapshot among them. decided is the plan of
// consolidation for the snapshot. It returns nil if there is no such node.
func AboutNode(name string, pools []api.NodePool, s *consolidation.Input, decided *consolidation.Plan) *About {
	i := slices.IndexFunc(s.Cluster.Nodes, func(n plan.Node) bool {
		return n.Node != nil && n.Node.Name == name || n.NodeClaim != nil &&
			(n.NodeClaim.Name == name || strings.HasSuffix(n.NodeClaim.Status.ProviderID, "/"+name))
	})
	if i < 0 {
		return nil
	}
	n := &s.Cluster.Nodes[i]
	a := &About{FormatVersion: FormatVersion, Kind: "Node", Name: n.Name(), Topics: []Topic{}}
	if n.Node == nil {
		a.Kind = api.NodeClaimKind
	}
	a.PricePerHour, a.ExtrasPerHour, a.RiskPerHour = priceOf(n.Name(), decided)
	a.add("What is it?", append(stateOf(n, pools, s), whatIs(n, a, s.Now)...)...)
	a.add("Why does it exist?", whyExists(n, s.Cluster)...)
	a.add("What keeps it?", whatKeeps(n, decided)...)
	a.add("When does it go?", whenGoes(n, s, decided)...)
	return a
}

// priceOf finds a node's price in what consolidation says of it, and the risk beside it.
func priceOf(name string, decided *consolidation.Plan) (price, extras, risk float64) {
	for _, stay := range decided.Stays {
		if cmp.Or(stay.Node, stay.NodeClaim) == name {
			return stay.PricePerHour - stay.RiskPerHour, stay.ExtrasPerHour, stay.RiskPerHour
		}
	}
	for _, moves := range [][]consolidation.Move{decided.Moves, decided.Waiting} {
		for i := range moves {
			for _, leaving := range moves[i].Delete {
				if cmp.Or(leaving.Node, leaving.NodeClaim) == name {
					return leaving.PricePerHour - leaving.RiskPerHour, leaving.ExtrasPerHour, leaving.RiskPerHour
				}
			}
		}
	}
	return 0, 0, 0
}

// stateOf is the state of the node and what is to be said of it, in the words of the status.
func stateOf(n *plan.Node, pools []api.NodePool, s *consolidation.Input) []string {
	world := nodestate.World{Pools: pools, Budgets: s.Budgets, Now: s.Now}
	for i := range s.Cluster.Nodes {
		if claim := s.Cluster.Nodes[i].NodeClaim; claim != nil {
			world.Claims = append(world.Claims, *claim)
		}
	}
	pods := make([]*corev1.Pod, len(n.Pods))
	for i := range n.Pods {
		pods[i] = &n.Pods[i]
	}
	words := nodestate.NewReader(world).Of(n.NodeClaim, n.Node, pods)
	line := "state " + string(words.State)
	if note := words.Note(); note != "" {
		line += ": " + printable.Line(note)
	}
	return []string{line}
}

func whatIs(n *plan.Node, a *About, now time.Time) []string {
	about := []string{}
	for _, key := range []string{corev1.LabelInstanceTypeStable, api.CapacityTypeLabelKey, corev1.LabelTopologyZone} {
		if value := n.Label(key); value != "" {
			about = append(about, value)
		}
	}
	lines := []string{}
	if len(about) > 0 {
		lines = append(lines, strings.Join(about, ", "))
	}
	if n.NodeClaim != nil {
		line := fmt.Sprintf("nodeclaim %q of nodepool %q", n.NodeClaim.Name, n.Pool())
		if !n.NodeClaim.CreationTimestamp.IsZero() {
			line += ", " + age(now.Sub(n.NodeClaim.CreationTimestamp.Time)) + " old"
		}
		lines = append(lines, line)
	}
	if a.PricePerHour > 0 {
		lines = append(lines, "$"+dollars(a.PricePerHour)+"/h"+extrasText(a.ExtrasPerHour)+riskText(a.RiskPerHour))
	}
	if n.NodeClaim != nil && n.NodeClaim.DeletionTimestamp == nil {
		lines = append(lines, notStarted(n.NodeClaim, now)...)
	}
	return lines
}

// notStarted says which step of its start a claim waits at, and why. Later steps wait for that one.
func notStarted(claim *api.NodeClaim, now time.Time) []string {
	for _, kind := range []string{
		api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized,
	} {
		condition := meta.FindStatusCondition(claim.Status.Conditions, kind)
		if condition == nil || condition.Status == metav1.ConditionTrue {
			continue
		}
		line := kind + " is " + strings.ToLower(string(condition.Status))
		if !condition.LastTransitionTime.IsZero() {
			line += " for " + age(now.Sub(condition.LastTransitionTime.Time))
		}
		for _, text := range []string{condition.Reason, condition.Message} {
			if text != "" {
				line += ": " + printable.Line(text)
			}
		}
		return []string{line}
	}
	return nil
}

func whyExists(n *plan.Node, s *plan.Snapshot) []string {
	if n.NodeClaim == nil {
		return []string{"Whittle did not launch it: no NodeClaim stands for it. It only counts as room for pods."}
	}
	var lines []string
	if replaced := n.NodeClaim.Annotations[api.ReplacesAnnotationKey]; replaced != "" {
		lines = append(lines, "it replaces "+replaced)
	}
	if list := n.NodeClaim.Annotations[api.NominatedPodsAnnotationKey]; list != "" {
		here, planned := 0, strings.Split(list, ",")
		for i := range n.Pods {
			if slices.Contains(planned, string(n.Pods[i].UID)) {
				here++
			}
		}
		lines = append(lines, fmt.Sprintf("it was launched for %s, of which %d run on it", count(len(planned), "pod"), here))
	}
	if id, _, has := api.CommitmentOf(n.NodeClaim); has {
		lines = append(lines, "it was chosen because the commitment "+printable.Line(id)+" pays for it")
	}
	for i := range s.NodePools {
		if pool := &s.NodePools[i]; pool.Name == n.Pool() && pool.Spec.Replicas != nil {
			lines = append(lines, fmt.Sprintf("nodepool %q keeps %s (spec.replicas)", pool.Name,
				count(int(*pool.Spec.Replicas), "node")))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "its NodeClaim does not say for which pods: a person or Karpenter made it")
	}
	if n.Paid > 0 {
		lines = append(lines, fmt.Sprintf("commitments pay for %.0f %% of its instance now, by the count of the last minutes",
			100*n.Paid))
	}
	return lines
}

func whatKeeps(n *plan.Node, decided *consolidation.Plan) []string {
	var pods, daemons []string
	for i := range n.Pods {
		pod := &n.Pods[i]
		switch {
		case scheduling.IsTerminal(pod) || scheduling.IsStatic(pod):
		case scheduling.IsOwnedByDaemonSet(pod):
			daemons = append(daemons, pod.Namespace+"/"+pod.Name)
		default:
			pods = append(pods, pod.Namespace+"/"+pod.Name)
		}
	}
	line := "no pod runs on it"
	if len(pods) > 0 {
		line = fmt.Sprintf("%s on it: %s", count(len(pods), "pod"), names(pods))
	}
	if len(daemons) > 0 {
		line += fmt.Sprintf("; %s of daemon sets", count(len(daemons), "pod"))
	}
	lines := []string{line}
	for _, stay := range decided.Stays {
		if cmp.Or(stay.Node, stay.NodeClaim) == n.Name() {
			lines = append(lines, fmt.Sprintf("consolidation leaves it (%s): %s", stay.Because, stay.Message))
		}
	}
	return lines
}

func whenGoes(n *plan.Node, s *consolidation.Input, decided *consolidation.Plan) []string {
	var lines []string
	now := s.Now
	add := func(format string, values ...any) { lines = append(lines, fmt.Sprintf(format, values...)) }
	claim := n.NodeClaim
	if claim == nil {
		return []string{"Whittle never removes it"}
	}
	if claim.DeletionTimestamp != nil {
		add("it has been leaving for %s%s", age(now.Sub(claim.DeletionTimestamp.Time)), because(claim))
		return append(lines, whatHolds(n, s)...)
	}
	for i, moves := range [][]consolidation.Move{decided.Moves, decided.Waiting} {
		for j := range moves {
			if slices.ContainsFunc(moves[j].Delete, func(l consolidation.Leaving) bool {
				return cmp.Or(l.Node, l.NodeClaim) == n.Name()
			}) {
				add("consolidation %s, which saves $%s/h (%s)", []string{
					"may remove it now", "waits for a disruption budget or another move before it removes it",
				}[i], dollars(moves[j].BilledSavingsPerHour()), moves[j].Reason)
			}
		}
	}
	if after := claim.Spec.ExpireAfter.Duration; after != nil && !claim.CreationTimestamp.IsZero() {
		at := claim.CreationTimestamp.Add(*after)
		add("it expires at %s, %s (expireAfter %s)", at.UTC().Format(time.RFC3339), until(at, now), *after)
	}
	for _, kind := range []string{api.ConditionTypeDrifted, api.ConditionTypeDisruptionReason} {
		if condition := meta.FindStatusCondition(claim.Status.Conditions, kind); condition != nil &&
			condition.Status == metav1.ConditionTrue {
			add("%s: %s %s", kind, condition.Reason, printable.Line(condition.Message))
		}
	}
	if departure, announced := disruption.DepartureOf(claim); announced {
		add("AWS takes its instance at %s, %s (%s)", departure.At.UTC().Format(time.RFC3339), until(departure.At, now),
			departure.Because)
	}
	if at := claim.Annotations[api.RebalanceRecommendedAnnotationKey]; at != "" {
		add("EC2 recommended at %s to replace its spot instance", at)
	}
	if len(lines) == 0 {
		add("nothing is planned")
	}
	return lines
}

// podsNamed is the most pods that the explanation of a node names for one question.
const podsNamed = 8

// whatHolds says what the drain of a leaving node waits for, and until when.
func whatHolds(n *plan.Node, s *consolidation.Input) []string {
	var lines []string
	held := 0
	for i := range n.Pods {
		why := protection.HoldsDrain(&n.Pods[i], s.Budgets, s.Now)
		if why == "" {
			continue
		}
		if held++; held <= podsNamed {
			lines = append(lines, "the drain waits: "+why)
		}
	}
	if held > podsNamed {
		lines = append(lines, fmt.Sprintf("and %d more pods hold it", held-podsNamed))
	}
	if by := n.NodeClaim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey]; by != "" {
		return append(lines, "its pods must be gone by "+by)
	}
	if held > 0 && n.NodeClaim.Spec.TerminationGracePeriod == nil {
		lines = append(lines, "there is no deadline, because the NodeClaim has no terminationGracePeriod: end the pods, or "+
			"remove what protects them")
	}
	return lines
}

// because gives the reason of a leaving claim, as disrupt wrote it.
func because(claim *api.NodeClaim) string {
	condition := meta.FindStatusCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return ""
	}
	return fmt.Sprintf(" (%s)", condition.Reason)
}

// AboutPool explains a NodePool. It returns nil if there is no such pool. pools are those of the
// files or the cluster, usable or not.
func AboutPool(name string, pools []api.NodePool, s *consolidation.Input, decided *consolidation.Plan) *About {
	i := slices.IndexFunc(pools, func(pool api.NodePool) bool { return pool.Name == name })
	if i < 0 {
		return nil
	}
	pool := &pools[i]
	a := &About{FormatVersion: FormatVersion, Kind: api.NodePoolKind, Name: name, Topics: []Topic{}}
	nodes, used, spent := 0, corev1.ResourceList{}, 0.0
	for j := range s.Cluster.Nodes {
		n := &s.Cluster.Nodes[j]
		if n.Pool() != name {
			continue
		}
		nodes++
		price, extras, risk := priceOf(n.Name(), decided)
		a.PricePerHour, a.ExtrasPerHour = a.PricePerHour+price, a.ExtrasPerHour+extras
		a.RiskPerHour += risk
		for name, quantity := range n.Capacity() {
			sum := used[name]
			sum.Add(quantity)
			used[name] = sum
		}
		spent += limit.Price(n, s.Cluster.InstanceTypes)
	}
	used[api.ResourceNodes] = *resource.NewQuantity(int64(nodes), resource.DecimalSI)
	used[api.ResourceDollarsPerHour] = *vector.QuantityOf(api.ResourceDollarsPerHour, vector.AmountOfDollars(spent))
	what := []string{count(nodes, "node")}
	if a.PricePerHour > 0 {
		what[0] += ", $" + dollars(a.PricePerHour) + "/h" + extrasText(a.ExtrasPerHour) + riskText(a.RiskPerHour)
	}
	for _, name := range slices.Sorted(maps.Keys(pool.Spec.Limits)) {
		what = append(what, fmt.Sprintf("limit of %s: %s of %s used", name, amount(name, used),
			amount(name, corev1.ResourceList(pool.Spec.Limits))))
	}
	a.add("What is it?", what...)
	a.add("Can it launch nodes?", launches(pool, s.Cluster)...)
	a.add("What may disrupt its nodes now?", disrupts(pool, s, decided)...)
	return a
}

func launches(pool *api.NodePool, s *plan.Snapshot) []string {
	alone := *s
	alone.NodePools = slices.DeleteFunc(slices.Clone(s.NodePools),
		func(p api.NodePool) bool { return p.Name != pool.Name })
	alone.UnusablePools = slices.DeleteFunc(slices.Clone(s.UnusablePools),
		func(p plan.UnusablePool) bool { return p.NodePool != pool.Name })
	var lines []string
	for _, problem := range PoolProblems(&alone) {
		lines = append(lines, "no: "+problem.Problem)
	}
	if len(lines) > 0 {
		return lines
	}
	if pool.Spec.Replicas != nil {
		return []string{fmt.Sprintf("yes, always %d (spec.replicas)", *pool.Spec.Replicas)}
	}
	return []string{fmt.Sprintf("yes, with weight %d; %s are on offer before its requirements", weight(pool),
		count(len(s.InstanceTypes[pool.Name]), "instance type"))}
}

func disrupts(pool *api.NodePool, s *consolidation.Input, decided *consolidation.Plan) []string {
	lines := []string{fmt.Sprintf("policy %s", pool.Spec.Disruption.ConsolidationPolicy)}
	if after := pool.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
		lines[0] += fmt.Sprintf(", after %s without change", *after)
	} else {
		lines[0] += ", consolidateAfter Never"
	}
	allowed := s.Allowed[pool.Name]
	lines = append(lines, fmt.Sprintf("its budgets allow %d empty and %d underutilized nodes now", allowed.Empty,
		allowed.Underutilized))
	for _, problem := range decided.Problems {
		if problem.NodePool == pool.Name {
			lines = append(lines, problem.Message)
		}
	}
	return lines
}

// WriteText writes the explanation for people.
func (a *About) WriteText(out io.Writer, style terminal.Style) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", a.Kind, style.Paint(terminal.Bold, a.Name))
	for _, topic := range a.Topics {
		text.WriteString("\n" + topic.Question + "\n")
		for _, line := range topic.Lines {
			text.WriteString(style.Wrap(line, "  ", "    "))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// age writes a time span for people.
func age(span time.Duration) string {
	switch {
	case span < 2*time.Minute:
		return count(int(max(span, 0).Seconds()), "second")
	case span < 2*time.Hour:
		return count(int(span.Minutes()), "minute")
	case span < 48*time.Hour:
		return count(int(span.Hours()), "hour")
	}
	return count(int(span.Hours()/24), "day")
}

// until writes how far a time is from now.
func until(at, now time.Time) string {
	if at.Before(now) {
		return age(now.Sub(at)) + " ago"
	}
	return "in " + age(at.Sub(now))
}

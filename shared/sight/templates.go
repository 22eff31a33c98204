package sight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// mostTemplates bounds the templates of one plan, because each is a read.
const mostTemplates = 500

// templateOf names the controller of pods that may come back with other requests.
type templateOf struct{ namespace, kind, name string }

func compareTemplates(a, b templateOf) int {
	return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.kind, b.kind),
		strings.Compare(a.name, b.name))
}

// successors marks the pods that may come back with other requests than they have: those on nodes that
// move says true for. It reads each of their templates once. A template that cannot be read, or that is beyond
// the bound, leaves its pods marked as unread, and disturbs no others. Marks that the pods have already are not
// believed, because whoever may write a pod could make it count for any size.
func successors(
	ctx context.Context, reader ObjectReader, o *snapshot.Objects, move func(*api.NodeClaim, *corev1.Node) bool,
) {
	pods := map[templateOf][]*corev1.Pod{}
	nodes := nodesThat(move, o)
	for i := range o.Pods {
		pod := &o.Pods[i]
		scheduling.ForgetTemplate(pod)
		if owner := scheduling.TemplateOwner(pod); owner != nil && nodes[pod.Spec.NodeName] {
			of := templateOf{pod.Namespace, owner.Kind, owner.Name}
			pods[of] = append(pods[of], pod)
		}
	}
	wanted := make([]templateOf, 0, len(pods))
	for of := range pods {
		wanted = append(wanted, of)
	}
	slices.SortFunc(wanted, compareTemplates)
	group := &errgroup.Group{}
	group.SetLimit(parallelReads)
	for i, of := range wanted {
		if i >= mostTemplates {
			mark(pods[of], scheduling.NoteUnreadTemplate)
			continue
		}
		group.Go(func() error {
			template, err := reader.TemplateOf(ctx, of.kind, of.namespace, of.name)
			switch {
			case err != nil:
				mark(pods[of], scheduling.NoteUnreadTemplate)
			case template != nil:
				spec := template.Pod.Spec.DeepCopy()
				scheduling.SetRequestsFromLimits(spec)
				snapshot.SetDefaultRequests(spec, of.namespace, o.LimitRanges)
				mark(pods[of], func(pod *corev1.Pod) { scheduling.NoteTemplate(pod, spec) })
			}
			return nil
		})
	}
	_ = group.Wait() // each pod has its mark
}

func mark(pods []*corev1.Pod, note func(*corev1.Pod)) {
	for _, pod := range pods {
		note(pod)
	}
}

// nodesThat returns the names of the nodes that move says true for, with the claim of each.
func nodesThat(move func(*api.NodeClaim, *corev1.Node) bool, o *snapshot.Objects) map[string]bool {
	members := membership.Join(o.NodeClaims, o.Nodes)
	names := map[string]bool{}
	for i := range o.Nodes {
		node := &o.Nodes[i]
		if move(members.Claim(node), node) {
			names[node.Name] = true
		}
	}
	return names
}

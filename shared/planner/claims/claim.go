package claims

import (
	"encoding/binary"
	"maps"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// claimTemplate is what all claims of a NodePool have in common.
type claimTemplate struct {
	spec         *api.NodeClaimTemplate
	generateName string
	finalizers   []string
	owners       []metav1.OwnerReference
}

// template returns the template of a NodePool's claims.
func (w *claimWriter) template(pool *offering.Pool) *claimTemplate {
	if t, ok := w.templates[pool]; ok {
		return t
	}
	blockDeletion := true
	t := &claimTemplate{
		spec: pool.NodePool.Spec.Template.DeepCopy(), generateName: pool.Name() + "-",
		finalizers: []string{api.TerminationFinalizer},
		owners: []metav1.OwnerReference{{
			APIVersion: api.APIVersion, Kind: api.NodePoolKind, Name: pool.Name(), UID: pool.NodePool.UID,
			BlockOwnerDeletion: &blockDeletion,
		}},
	}
	w.templates[pool] = t
	return t
}

// fillClaim sets the NodeClaim of a planned node.
func (w *claimWriter) fillClaim(
	claim *api.NodeClaim,
	pool *offering.Pool,
	c *choices,
	r *claimRequirements,
	requests corev1.ResourceList,
	pods []plan.PodRef,
) {
	t := w.template(pool)
	annotations := make(map[string]string, len(t.spec.Annotations)+4)
	maps.Copy(annotations, t.spec.Annotations)
	if text := nominatedText(pods); text != "" {
		annotations[api.NominatedPodsAnnotationKey] = text
	}
	if c.commitment != "" {
		annotations[api.CommitmentAnnotationKey] = c.commitment
	}
	if len(pool.MinValues) > 0 {
		annotations[api.NodeClaimMinValuesRelaxedAnnotationKey] = strconv.FormatBool(r.minValuesLowered)
	}
	if c.priceOverlay {
		annotations[api.PriceOverlayAppliedAnnotationKey] = "true"
	}
	if c.capacityOverlay {
		annotations[api.CapacityOverlayAppliedAnnotationKey] = "true"
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	claim.TypeMeta = metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind}
	claim.GenerateName, claim.Labels, claim.Annotations = t.generateName, r.labels, annotations
	claim.Finalizers, claim.OwnerReferences = t.finalizers, t.owners
	claim.Spec = api.NodeClaimSpec{
		Taints:                 t.spec.Spec.Taints,
		StartupTaints:          t.spec.Spec.StartupTaints,
		Requirements:           r.terms,
		Resources:              api.ResourceRequirements{Requests: requests},
		NodeClassRef:           t.spec.Spec.NodeClassRef,
		TerminationGracePeriod: t.spec.Spec.TerminationGracePeriod,
		ExpireAfter:            t.spec.Spec.ExpireAfter,
	}
}

// requestsOf returns the requests of the node's pods and of the daemon sets on a pool type.
func (w *claimWriter) requestsOf(n *placement.PlannedNode, poolType *offering.PoolType) corev1.ResourceList {
	clear(w.needs)
	for _, f := range n.Fills {
		w.needs.Add(w.state.Demands[f.Demand].Need, int64(f.Count))
	}
	w.key = w.key[:0]
	for _, amount := range w.needs {
		w.key = binary.AppendVarint(w.key, amount)
	}
	w.key = binary.AppendUvarint(w.key, uint64(poolType.DaemonRequestsID))
	number, isNew := w.requestKeys.Number(w.key)
	if isNew {
		names := w.state.Work.Axes.Names
		requests := make(corev1.ResourceList, len(w.needs))
		for i, amount := range w.needs {
			if amount > 0 && names[i] != workload.VolumesAxis {
				requests[names[i]] = *resource.QuantityOf(names[i], amount)
			}
		}
		resource.AddLists(requests, poolType.DaemonRequests)
		w.requests = append(w.requests, requests)
	}
	return w.requests[number]
}

// nominatedText is the value of the annotation that names the pods of a claim: their UIDs.
func nominatedText(pods []plan.PodRef) string {
	length := 0
	for i := range pods {
		length += len(pods[i].UID) + 1
	}
	var text strings.Builder
	text.Grow(length)
	for i := range pods {
		if pods[i].UID == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(pods[i].UID)
	}
	return text.String()
}

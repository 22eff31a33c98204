package disruption

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Replica is a claim of the pool for no pod in particular: what the template asks for
// decides its instance type.
func Replica(pool *api.NodePool) (*api.NodeClaim, scheduling.Requirements, error) {
	template := pool.Spec.Template.DeepCopy()
	requirements, err := scheduling.FromTerms(template.Spec.Requirements)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.template.spec.requirements: %w", err)
	}
	requirements.Merge(scheduling.FromLabels(template.Labels))
	requirements.Add(scheduling.In(api.NodePoolLabelKey, pool.Name), scheduling.In(api.LabelNodeClass, template.Spec.NodeClassRef.Name))
	labels := map[string]string{}
	for key, value := range requirements.Labels() {
		if !api.IsRestrictedLabel(key) {
			labels[key] = value
		}
	}
	maps.Copy(labels, template.Labels)
	block := true
	return &api.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: pool.Name + "-", Labels: labels, Annotations: template.Annotations, Finalizers: []string{api.TerminationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: api.APIVersion, Kind: api.NodePoolKind, Name: pool.Name, UID: pool.UID, BlockOwnerDeletion: &block}},
		},
		Spec: api.NodeClaimSpec{
			Taints: template.Spec.Taints, StartupTaints: template.Spec.StartupTaints, Requirements: requirements.Terms(), NodeClassRef: template.Spec.NodeClassRef,
			TerminationGracePeriod: template.Spec.TerminationGracePeriod, ExpireAfter: template.Spec.ExpireAfter,
		},
	}, requirements, nil
}

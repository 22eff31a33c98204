package karpenter

import (
	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/whittle-dev/whittle/shared/api"
)

// Karpenter's core knows no cloud. A provider tells it of its labels through variables of
// Karpenter's packages, before anything else runs; this is what the one for AWS tells.
func init() {
	karpenterv1.WellKnownLabels.Insert(api.WellKnownLabels()...)
	karpenterv1.RestrictedLabelDomains.Insert(api.AWSGroup)
	karpenterv1.NormalizedLabels[api.LabelTopologyZoneEBS] = corev1.LabelTopologyZone
	cloudprovider.ReservationIDLabel = api.LabelCapacityReservationID
	cloudprovider.ReservedCapacityLabels.Insert(
		api.LabelCapacityReservationID,
		api.LabelCapacityReservationType,
		api.LabelCapacityReservationInterruptible,
	)
}

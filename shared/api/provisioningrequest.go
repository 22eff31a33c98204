package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	// ProvisioningRequestAPIVersion and ProvisioningRequestKind are those of Cluster Autoscaler, whose
	// definition has to be in the cluster. Kueue makes such objects.
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/provisioning-request.md
	ProvisioningRequestAPIVersion = AutoscalingGroup + "/v1"
	ProvisioningRequestKind       = "ProvisioningRequest"
	ProvisioningRequestResource   = "provisioningrequests"
	// ProvisioningRequestsPath is the path of all ProvisioningRequests in the API server.
	ProvisioningRequestsPath = "/apis/" + ProvisioningRequestAPIVersion + "/" + ProvisioningRequestResource

	// CheckCapacityClass asks whether existing nodes have room. AtomicScaleUpClass asks for new
	// nodes too. Requests of other classes are for other controllers.
	CheckCapacityClass = "check-capacity.autoscaling.x-k8s.io"
	AtomicScaleUpClass = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
	// NoRetryParameter lets a request of CheckCapacityClass fail at the first miss if it is "true".
	NoRetryParameter = "noRetry"

	// ConsumeRequestAnnotationKey is, on a pod, the name of the request whose room it is for.
	// OldConsumeRequestAnnotationKey is the same under its former name.
	ConsumeRequestAnnotationKey    = AutoscalingGroup + "/consume-provisioning-request"
	OldConsumeRequestAnnotationKey = "cluster-autoscaler.kubernetes.io/consume-provisioning-request"
)

// Conditions of a ProvisioningRequest, and their reasons, as Cluster Autoscaler writes them.
const (
	// ConditionAccepted says that Whittle has the request.
	ConditionAccepted = "Accepted"
	// ConditionProvisioned says that nodes have room for all pods.
	ConditionProvisioned        = "Provisioned"
	ReasonCapacityIsFound       = "CapacityIsFound"
	ReasonCapacityIsProvisioned = "CapacityIsProvisioned"
	ReasonCapacityIsNotFound    = "CapacityIsNotFound"
	// ConditionFailed ends the request.
	ConditionFailed          = "Failed"
	ReasonFailedToCreatePods = "FailedToCreatePods"
	// ConditionBookingExpired says that no room is held any more.
	ConditionBookingExpired            = "BookingExpired"
	ReasonCapacityReservationTimeEnded = "CapacityReservationTimeExpired"
	ReasonCapacityBookingConsumed      = "CapacityBookingConsumed"
)

// ProvisioningRequest asks for room for all of its pods, or for none.
type ProvisioningRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   ProvisioningRequestSpec   `json:"spec"`
	Status ProvisioningRequestStatus `json:"status"`
}

// ProvisioningRequestSpec never changes.
type ProvisioningRequestSpec struct {
	ProvisioningClassName string            `json:"provisioningClassName"`
	Parameters            map[string]string `json:"parameters,omitempty"`
	PodSets               []RequestedPodSet `json:"podSets"`
}

// RequestedPodSet is a number of equal pods.
type RequestedPodSet struct {
	// PodTemplateRef names a PodTemplate of the request's namespace.
	PodTemplateRef PodTemplateRef `json:"podTemplateRef"`
	Count          int32          `json:"count"`
}

// ProvisioningRequestStatus is what Whittle tells.
type ProvisioningRequestStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ProvisioningClassDetails has the value of the label of which all pods need one value. Kueue
	// can turn it into a node selector of the pods.
	ProvisioningClassDetails map[string]string `json:"provisioningClassDetails,omitempty"`
}

// ProvisioningRequestList is what the API server answers.
type ProvisioningRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []ProvisioningRequest `json:"items"`
}

package nodeclaim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// explainEnd shows why EC2 ended the instance of a claim before it joined, and reports whether that
// is news. Nothing else tells it: the launch itself succeeded. Where the cause outlives the instance,
// it refuses the class before the claim shows the reason, so that a pass that dies does it again.
func (p *pass) explainEnd() bool {
	instance := p.view.Instance()
	byUs := p.is(api.ConditionTypeInstanceTerminating)
	joined := p.claim.Status.NodeName != "" || p.node != nil
	if instance == nil || !instance.isEnding() || instance.StateReason == "" || byUs || joined {
		return false
	}
	message := "EC2 ended the instance before it joined: " + instance.StateReason + remedy(instance.StateReason)
	if !p.condition(api.ConditionTypeRegistered, conditionUnknown, api.ReasonInstanceEnded, message) {
		return false
	}
	if class := p.claim.Spec.NodeClassRef; spoilsLaunches(instance.StateReason) && class != nil {
		p.do(RefuseClass{Class: class.Name, Message: message})
	}
	p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, api.ReasonInstanceEnded, message)
	return true
}

// spoilsLaunches reports whether every instance that the class makes now would end for the same
// reason: EC2 cannot make its volumes. Other reasons, such as a person's, say nothing of the next
// instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html#troubleshooting-launch-internal
func spoilsLaunches(reason string) bool {
	return isAboutKey(reason) || strings.HasPrefix(reason, "Client.InvalidSnapshot") ||
		strings.HasPrefix(reason, "Client.VolumeLimitExceeded")
}

// isAboutKey reports whether the reason is that of a volume whose KMS key the launch may not use.
func isAboutKey(reason string) bool {
	return strings.HasPrefix(reason, "Client.InternalError") || strings.HasPrefix(reason, "Client.InvalidKMSKey")
}

// remedy says what a person can do about EC2's reason.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html
func remedy(reason string) string {
	if isAboutKey(reason) {
		return ": if a KMS key of yours encrypts its volumes, name the key in the setting volumeKeys, and let the key's " +
			"policy allow the role of provision"
	}
	if strings.HasPrefix(reason, "Client.VolumeLimitExceeded") {
		return ": ask AWS for a higher quota of EBS storage in the region, or delete unused volumes"
	}
	if strings.HasPrefix(reason, "Client.InvalidSnapshot") {
		return ": a snapshot of spec.blockDeviceMappings or of the image does not exist: select another"
	}
	return ""
}

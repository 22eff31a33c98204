package nodeclaim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// explainEnd shows why EC2 ended the instance of a claim before it joined, and reports whether that
// is news. Nothing else tells it: the launch itself succeeded.
func (p *pass) explainEnd() bool {
	instance := p.view.instance()
	byUs := p.is(api.ConditionTypeInstanceTerminating)
	joined := p.claim.Status.NodeName != "" || p.node != nil
	if instance == nil || !instance.isEnding() || instance.StateReason == "" || byUs || joined {
		return false
	}
	message := "EC2 ended the instance before it joined: " + instance.StateReason + remedy(instance.StateReason)
	if !p.condition(api.ConditionTypeRegistered, conditionUnknown, api.ReasonInstanceEnded, message) {
		return false
	}
	p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, api.ReasonInstanceEnded, message)
	return true
}

// remedy says what a person can do about EC2's reason.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html
func remedy(reason string) string {
	if strings.HasPrefix(reason, "Client.InternalError") || strings.HasPrefix(reason, "Client.InvalidKMSKey") {
		return ": if a KMS key of yours encrypts its volumes, name the key in the setting volumeKeys, and let the key's " +
			"policy allow the role of provision"
	}
	return ""
}

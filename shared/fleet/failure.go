package fleet

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Failure is a launch that EC2 refused for a reason other than a lack of capacity.
type Failure struct {
	// Reason is Karpenter's reason for the condition Launched of the NodeClaim.
	Reason string
	// Code and Message are EC2's.
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
	Code, Message string
	// Remedy names the wrong field, the missing right or the quota, and what a person does. It is
	// empty where the failure passes without a person.
	Remedy string
	// Condition is the condition of the EC2NodeClass that the failure contradicts. It is empty
	// where the failure is not about the class.
	Condition string
}

// Error returns EC2's code and message, and the remedy.
func (f *Failure) Error() string {
	text := f.Code + ": " + f.Message
	if f.Remedy != "" {
		text += " (" + f.Remedy + ")"
	}
	return text
}

// spotRoleRemedy is the remedy for an account that has never used spot.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
const spotRoleRemedy = "the account has no service-linked role for spot and the function may not create it: " +
	"run `aws iam create-service-linked-role --aws-service-name spot.amazonaws.com` once"

// failurePattern recognises a failure by its code. Where EC2 uses one code for several failures, it
// also needs words of the message.
type failurePattern struct {
	codes []string
	// words is a part of the message in lower case. Empty matches any message.
	words string
	// The rest are the fields of the Failure.
	reason, remedy, condition string
}

// failurePatterns returns the known failures in the order in which they are tried. The reasons are
// Karpenter's.
func failurePatterns() []failurePattern {
	return slices.Concat(rightFailures(), classFailures(), settingFailures(), quotaFailures())
}

func rightFailures() []failurePattern {
	return []failurePattern{
		{
			codes: []string{codeNoSpotRole}, reason: "SpotSLRCreationFailed", remedy: spotRoleRemedy,
		},
		{
			codes:  []string{"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"},
			reason: unauthorized, condition: api.ConditionTypeValidationSucceeded,
			remedy: "the function's role lacks a right, or a policy of the organization denies it: " +
				"`aws sts decode-authorization-message` shows which",
		},
	}
}

func classFailures() []failurePattern {
	return []failurePattern{
		{
			codes: []string{"AuthFailure"}, words: "image",
			reason: "AMIAuthorizationFailure", condition: api.ConditionTypeAMIsReady,
			remedy: "spec.amiSelectorTerms selects an image that is not shared with the account: " +
				"share it, or select another",
		},
		{
			codes: []string{"OptInRequired"}, words: "marketplace",
			reason: "AMISubscriptionRequired", condition: api.ConditionTypeAMIsReady,
			remedy: "spec.amiSelectorTerms selects an image of AWS Marketplace: accept the product's terms in this account, " +
				"or select another image",
		},
		{
			codes:  []string{"InvalidAMIID.NotFound", "InvalidAMIID.Unavailable"},
			reason: "AMINotFound", condition: api.ConditionTypeAMIsReady,
			remedy: "an image of spec.amiSelectorTerms does not exist any more: select another",
		},
		{
			codes:  []string{"InvalidAMIID.Malformed", "InvalidAMIID"},
			reason: "InvalidAMIID", condition: api.ConditionTypeAMIsReady,
			remedy: "spec.amiSelectorTerms has an invalid image id: correct it",
		},
		{
			words:  "belong to different networks",
			reason: "SecurityGroupSubnetVPCMismatch", condition: api.ConditionTypeSecurityGroupsReady,
			remedy: "spec.securityGroupSelectorTerms and spec.subnetSelectorTerms select in different VPCs: " +
				"narrow one of them",
		},
		{
			codes:  []string{"InvalidGroup.NotFound", "InvalidGroupId.Malformed"},
			reason: "SecurityGroupSubnetVPCMismatch", condition: api.ConditionTypeSecurityGroupsReady,
			remedy: "spec.securityGroupSelectorTerms selects a group that does not exist, or is in another VPC than " +
				"the subnets: select another",
		},
		{
			codes:  []string{"InvalidSubnetID.NotFound", "InvalidSubnet"},
			reason: "SubnetResolutionFailed", condition: api.ConditionTypeSubnetsReady,
			remedy: "spec.subnetSelectorTerms selects a subnet that does not exist: select another",
		},
		{
			words:  "instance profile",
			reason: "InstanceProfileNameInvalid", condition: api.ConditionTypeInstanceProfileReady,
			remedy: "spec.instanceProfile, or the profile made for spec.role, does not exist in IAM or holds no role: " +
				"correct the name, or add the role",
		},
		{
			words:  "user data is limited",
			reason: api.ReasonUserDataSizeLimitExceeded, condition: api.ConditionTypeValidationSucceeded,
			remedy: "shorten spec.userData: EC2 takes 16,384 bytes",
		},
		{
			words:  "kms key",
			reason: "VolumeKeyInvalid", condition: api.ConditionTypeValidationSucceeded,
			remedy: "provision may not use a volume's KMS key: enable it, name it in the setting volumeKeys, and let its " +
				"policy allow provision's role",
		},
	}
}

// settingFailures are about settings of the class that EC2 checks at a launch only.
func settingFailures() []failurePattern {
	const tagRemedy = "EC2, or a tag policy of the organization, refuses a tag of spec.tags: correct or remove it"
	const deviceRemedy = "EC2 refuses a volume of spec.blockDeviceMappings: correct it. A volumeSize must not be below " +
		"that of the image's snapshot"
	tags := failurePattern{
		reason: api.ReasonTagValidationFailed, condition: api.ConditionTypeValidationSucceeded, remedy: tagRemedy,
	}
	named := tags
	tags.codes = []string{"TagLimitExceeded", "TagPolicyViolation", "InvalidTagKey.Malformed"}
	named.codes, named.words = []string{codeInvalidValue}, "tag "
	devices := failurePattern{
		reason: "InvalidBlockDeviceMapping", condition: api.ConditionTypeValidationSucceeded, remedy: deviceRemedy,
	}
	snapshot := devices
	devices.codes = []string{"InvalidBlockDeviceMapping", "InvalidSnapshot.NotFound", "InvalidSnapshotID.Malformed"}
	snapshot.words = "snapshot"
	return []failurePattern{
		tags, named, devices, snapshot,
		{
			codes:  []string{"SecurityGroupsPerInstanceLimitExceeded", "SecurityGroupsPerInterfaceLimitExceeded"},
			reason: "SecurityGroupLimitExceeded", condition: api.ConditionTypeSecurityGroupsReady,
			remedy: "spec.securityGroupSelectorTerms selects more groups than a network interface takes: narrow it, or ask " +
				"AWS for a higher quota",
		},
		{
			codes:  []string{"InvalidPlacementGroup.Unknown"},
			reason: api.ReasonPlacementGroupNotFound, condition: api.ConditionTypePlacementGroupReady,
			remedy: "spec.placementGroupSelector names a group that does not exist any more: create it, or name another",
		},
	}
}

func quotaFailures() []failurePattern {
	return []failurePattern{
		{
			codes: []string{
				"InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound",
				"InvalidLaunchTemplateId.VersionNotFound",
			},
			reason: "LaunchTemplateNotFound",
			remedy: "EC2 does not know a new launch template for some seconds. Else something deletes the launch templates " +
				"karpenter.k8s.aws/*: stop it",
		},
		{
			words: "free tier", reason: "FreeTierIneligible",
			remedy: "the account is on the free plan: " +
				"upgrade it, or allow only types of the free tier in the NodePool's requirements",
		},
		{
			codes: []string{"PendingVerification"}, reason: "AccountPendingVerification",
			remedy: "AWS is verifying the account: wait. It takes minutes, seldom hours",
		},
		{
			codes: []string{"OptInRequired", "Blocked"}, reason: "AccountPendingVerification",
			remedy: "the account may not use EC2 in this region: see the mail of AWS to its owner",
		},
		{
			codes:  []string{"VolumeLimitExceeded", "MaxIOPSLimitExceeded"},
			reason: "VolumeQuotaExceeded",
			remedy: "ask AWS for a higher quota of EBS storage or IOPS, or lower those of spec.blockDeviceMappings",
		},
		{
			codes:  []string{"NetworkInterfaceLimitExceeded"},
			reason: "NetworkInterfaceQuotaExceeded",
			remedy: "ask AWS for a higher quota of network interfaces in the region",
		},
		{
			codes: []string{"MaxFleetCountExceeded", "FleetQuotaExceeded"}, reason: "FleetQuotaExceeded",
			remedy: "ask AWS for a higher quota of EC2 fleets in the region",
		},
		{
			codes: []string{"MaxSpotInstanceCountExceeded"}, reason: "SpotQuotaExceeded",
			remedy: "ask AWS for a higher quota of spot vCPUs, or allow on-demand in the NodePool",
		},
		{
			codes: []string{"VcpuLimitExceeded"}, reason: "VCPULimitExceeded",
			remedy: "ask AWS for a higher quota of on-demand vCPUs of these families, or allow others in the NodePool",
		},
		{
			codes: []string{"InsufficientFreeAddressesInSubnet"}, reason: "InsufficientFreeAddressesInSubnet",
			remedy: "spec.subnetSelectorTerms selects full subnets: add larger ones",
		},
	}
}

// KnownFailures returns the failures with a reason of their own, without codes and messages, for
// the table of event reasons.
func KnownFailures() []Failure {
	var known []Failure
	for _, pattern := range failurePatterns() {
		failure := Failure{Reason: pattern.reason, Remedy: pattern.remedy, Condition: pattern.condition}
		if !slices.Contains(known, failure) {
			known = append(known, failure)
		}
	}
	return known
}

// failureOf classifies EC2's code and message. An unknown failure has the reason LaunchFailed.
func failureOf(code, message string) *Failure {
	failure := &Failure{Reason: api.ReasonLaunchFailed, Code: code, Message: message}
	switch {
	case isThrottling(code):
		failure.Reason = "RequestLimitExceeded"
		return failure
	case isPassingCode(code):
		failure.Reason = api.EventReasonInternalError
		return failure
	}
	for _, pattern := range failurePatterns() {
		if pattern.matches(code, message) {
			failure.Reason, failure.Remedy, failure.Condition = pattern.reason, pattern.remedy, pattern.condition
			break
		}
	}
	return failure
}

func (p *failurePattern) matches(code, message string) bool {
	if len(p.codes) > 0 && !slices.Contains(p.codes, code) {
		return false
	}
	return p.words == "" || strings.Contains(strings.ToLower(message), p.words)
}

// Advice returns the remedy of a shortage that does not pass without a person, or an empty text.
func (s Shortage) Advice() string {
	switch s.Code {
	case codeNoSpotRole, "MaxFleetCountExceeded", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded",
		"InsufficientFreeAddressesInSubnet":
		return failureOf(s.Code, s.Message).Remedy
	}
	if failure := failureOf(s.Code, s.Message); failure.Reason == unauthorized && s.Message != "" {
		return s.Message + " (" + failure.Remedy + ". Or leave the type out of the NodePool's requirements)"
	}
	return ""
}

// Reason returns Karpenter's reason for a shortage that does not pass without a person, else
// InsufficientCapacityError.
func (s Shortage) Reason() string {
	if s.Advice() == "" {
		return "InsufficientCapacityError"
	}
	return failureOf(s.Code, s.Message).Reason
}

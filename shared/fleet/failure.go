package fleet

import (
	"strings"
)

// Failure is a launch that did not come about for a reason other than a lack of room.
type Failure struct {
	// Reason is Karpenter's, for the condition Launched of the NodeClaim.
	Reason string
	// Code and Message are EC2's.
	Code, Message string
	// Mend names the field that is wrong, or the right or quota that is missing, and what to do; empty where AWS mends it.
	Mend string
	// Class is the condition of the EC2NodeClass that is not true after all; empty where the failure is not the class's.
	Class string
}

// Error says what EC2 said, and the mend.
func (f *Failure) Error() string {
	text := f.Code + ": " + f.Message
	if f.Mend != "" {
		text += " (" + f.Mend + ")"
	}
	return text
}

// spotRoleMend is the one sentence for an account that has never used spot.
const spotRoleMend = "the account has no service-linked role for spot and the function may not create it: run `aws iam create-service-linked-role --aws-service-name spot.amazonaws.com` once"

// sign is how a failure is recognised: by its code, and where AWS uses one code for
// much, by words of its message.
type sign struct {
	codes  []string
	words  string
	reason string
	mend   string
	class  string
}

// signs are in the order in which they are tried. The reasons are Karpenter's.
func signs() []sign {
	return []sign{
		{codes: []string{codeNoSpotRole}, reason: "SpotSLRCreationFailed", mend: spotRoleMend},
		{codes: []string{"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}, reason: "Unauthorized",
			mend:  "the function's role lacks a right, or a policy of the organization denies it: the encoded message says which, see `aws sts decode-authorization-message`",
			class: "ValidationSucceeded"},
		{codes: []string{"AuthFailure"}, words: "image", reason: "AMIAuthorizationFailure",
			mend: "spec.amiSelectorTerms selects an image that is not shared with the account: share it, or select another", class: "AMIsReady"},
		{codes: []string{"InvalidAMIID.NotFound", "InvalidAMIID.Unavailable"}, reason: "AMINotFound",
			mend: "an image of spec.amiSelectorTerms is gone: select one that is there", class: "AMIsReady"},
		{codes: []string{"InvalidAMIID.Malformed", "InvalidAMIID"}, reason: "InvalidAMIID",
			mend: "spec.amiSelectorTerms names no valid image id", class: "AMIsReady"},
		{words: "belong to different networks", reason: "SecurityGroupSubnetVPCMismatch",
			mend: "spec.securityGroupSelectorTerms and spec.subnetSelectorTerms select in different VPCs: narrow one of them", class: "SecurityGroupsReady"},
		{codes: []string{"InvalidGroup.NotFound", "InvalidGroupId.Malformed"}, reason: "SecurityGroupSubnetVPCMismatch",
			mend: "spec.securityGroupSelectorTerms selects a group that is gone or lies in another VPC than the subnets", class: "SecurityGroupsReady"},
		{codes: []string{"InvalidSubnetID.NotFound", "InvalidSubnet"}, reason: "SubnetResolutionFailed",
			mend: "spec.subnetSelectorTerms selects a subnet that is gone", class: "SubnetsReady"},
		{words: "instance profile", reason: "InstanceProfileNameInvalid",
			mend: "spec.instanceProfile, or the profile made for spec.role, does not exist in IAM or holds no role", class: "InstanceProfileReady"},
		{words: "user data is limited", reason: "UserDataSizeLimitExceeded", mend: "shorten spec.userData: EC2 takes 16,384 bytes", class: "ValidationSucceeded"},
		{codes: []string{"InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.VersionNotFound"},
			reason: "LaunchTemplateNotFound", mend: "somebody deletes the launch templates karpenter.k8s.aws/*: they are made anew at each launch"},
		{words: "free tier", reason: "FreeTierIneligible", mend: "the account is on the free plan: upgrade it, or allow only types of the free tier in the NodePool's requirements"},
		{codes: []string{"PendingVerification"}, reason: "AccountPendingVerification", mend: "AWS is verifying the account, which takes minutes, seldom hours"},
		{codes: []string{"OptInRequired", "Blocked"}, reason: "AccountPendingVerification", mend: "the account may not use EC2 in this region: see the mail of AWS to its owner"},
		{codes: []string{"MaxFleetCountExceeded", "FleetQuotaExceeded"}, reason: "FleetQuotaExceeded", mend: "ask AWS for a higher quota of EC2 fleets in the region"},
		{codes: []string{"MaxSpotInstanceCountExceeded"}, reason: "SpotQuotaExceeded", mend: "ask AWS for a higher quota of spot vCPUs, or allow on-demand in the NodePool"},
		{codes: []string{"VcpuLimitExceeded"}, reason: "VCPULimitExceeded", mend: "ask AWS for a higher quota of on-demand vCPUs of these families, or allow others in the NodePool"},
		{codes: []string{"InsufficientFreeAddressesInSubnet"}, reason: "InsufficientFreeAddressesInSubnet", mend: "spec.subnetSelectorTerms selects full subnets: add larger ones"},
	}
}

// failureOf names a failure by EC2's code and message.
func failureOf(code, message string) *Failure {
	made := &Failure{Reason: "LaunchFailed", Code: code, Message: message}
	switch {
	case isThrottling(code):
		made.Reason = "RequestLimitExceeded"
		return made
	case isPassingCode(code):
		made.Reason = "InternalError"
		return made
	}
	for _, s := range signs() {
		if !s.matches(code, message) {
			continue
		}
		made.Reason, made.Mend, made.Class = s.reason, s.mend, s.class
		break
	}
	return made
}

func (s *sign) matches(code, message string) bool {
	if len(s.codes) > 0 {
		known := false
		for _, candidate := range s.codes {
			known = known || candidate == code
		}
		if !known {
			return false
		}
	}
	return s.words == "" || strings.Contains(strings.ToLower(message), s.words)
}

// Advice is the mend of a shortage that does not go by itself, or "".
func (s Shortage) Advice() string {
	switch s.Code {
	case codeNoSpotRole, "MaxFleetCountExceeded", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "InsufficientFreeAddressesInSubnet":
		return failureOf(s.Code, s.Message).Mend
	}
	return ""
}

// Reason is Karpenter's for a shortage that does not go by itself, else InsufficientCapacityError.
func (s Shortage) Reason() string {
	if s.Advice() == "" {
		return "InsufficientCapacityError"
	}
	return failureOf(s.Code, s.Message).Reason
}

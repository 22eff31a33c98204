package fleet

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// answer is what an error code of EC2 means for a launch. One table, answers, has all of them.
// The codes are those of EC2's page of error codes that CreateFleet, RunInstances,
// CreateLaunchTemplate or an override may return, those of Karpenter, and those of reports.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
type answer struct {
	// codes are EC2's. Without codes the words alone decide.
	codes []string
	// words is a part of the message in lower case, where EC2 uses a code for several failures.
	// Empty matches any message.
	words string
	scope scope
	// lasts is how long the scope's part is left out of launches. It is zero where no part is.
	lasts time.Duration
	// reason is Karpenter's for the condition Launched of the claim, where Karpenter has one.
	reason string
	// condition is the condition of the EC2NodeClass that the failure contradicts.
	condition string
	// remedy names the wrong field, the missing right or the quota, and what a person does. It is
	// empty where the failure passes without a person, which passes then explains.
	remedy, passes string
}

// scope is the part of EC2's offer, or of the request, that an answer is about.
type scope int

const (
	ofOffering     scope = iota + 1 // the type in the zone, with this capacity type
	ofSuited                        // the same, for launches with the class only
	ofSubnet                        // all launches in the subnet
	ofGroupZone                     // all launches into the placement group in the zone
	ofQuota                         // all families with the type's vCPU quota, with this capacity type
	ofCapacityType                  // all launches with this capacity type
	ofRegion                        // all launches
	ofClass                         // the EC2NodeClass
	ofAccount                       // the account, whatever is launched
	ofRequest                       // the request, which another attempt changes
	ofCall                          // the call: EC2 is busy
)

// isShortage reports whether the scope is a part of EC2's offer, which is left out.
func (s scope) isShortage() bool { return s >= ofOffering && s <= ofRegion }

const (
	// unsuitableFor is how long an offering is left out that EC2 does not have, or not with these
	// settings. AWS adds types within days, but a change of the EC2NodeClass may help sooner.
	unsuitableFor = 15 * time.Minute
	// quotaFor is how long a used up quota is believed. It has room again after a request to AWS, or
	// when instances of the same families end.
	quotaFor = 5 * time.Minute
)

// codeNoSpotRole is EC2's answer to the first spot request of an account whose caller may not
// create the service-linked role for spot.
const codeNoSpotRole = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"

// codeNoCapacity is EC2's answer where it lacks the type in the zone and finds nothing else wrong.
const codeNoCapacity = "InsufficientInstanceCapacity"

// codeInvalidValue is EC2's code for many failures. Its message tells them apart.
const codeInvalidValue = "InvalidParameterValue"

// answers returns the table in the order in which its rows are tried. A row with words comes before
// those with the same code and without. The table is made once, because a fleet may have hundreds of
// errors.
var answers = sync.OnceValue(func() []answer {
	return slices.Concat(
		calls(), rights(), capacities(), quotas(), images(), networks(), profiles(), settings(), volumes(), accounts(),
		requests(),
	)
})

// answerTo returns the row for EC2's code and message, or false for an unknown failure.
func answerTo(code, message string) (answer, bool) {
	message = strings.ToLower(message)
	for _, row := range answers() {
		if row.matches(code, message) {
			return row, true
		}
	}
	return answer{}, false
}

// matches compares with a message in lower case.
func (a *answer) matches(code, message string) bool {
	if len(a.codes) > 0 && !slices.Contains(a.codes, code) {
		return false
	}
	return a.words == "" || strings.Contains(message, a.words)
}

// busyCodes are those after which the same call may succeed. The SDK knows more of them.
func busyCodes() []string {
	return []string{
		"InternalError", "InternalFailure", "Unavailable", "ServiceUnavailable", "ServerInternal", "RetryableError",
		"ConcurrentTagAccess", "RequestExpired",
	}
}

func calls() []answer {
	return []answer{
		{
			codes: []string{
				"RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled", "RequestThrottledException",
				"TooManyRequestsException", "EC2ThrottledException", "FleetRequestLimitExceeded",
			},
			scope: ofCall, reason: "RequestLimitExceeded", passes: "EC2 throttles the call, and the next pass repeats it",
		},
		{
			codes: busyCodes(), scope: ofCall, reason: api.EventReasonInternalError,
			passes: "EC2 is busy, and the next pass repeats the call",
		},
	}
}

// spotRoleRemedy is the remedy for an account that has never used spot.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
const spotRoleRemedy = "the account has no service-linked role for spot and the function may not create it: " +
	"run `aws iam create-service-linked-role --aws-service-name spot.amazonaws.com` once"

func rights() []answer {
	return []answer{
		{
			codes: []string{codeNoSpotRole}, scope: ofCapacityType, lasts: catalog.UnavailableFor,
			reason: "SpotSLRCreationFailed", remedy: spotRoleRemedy,
		},
		{
			codes: []string{"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}, scope: ofClass,
			reason: unauthorized, condition: api.ConditionTypeValidationSucceeded,
			remedy: "the function's role lacks a right, or a policy of the organization denies it: " +
				"`aws sts decode-authorization-message` shows which",
		},
	}
}

// zoneWords are in the message of InvalidFleetConfiguration where it is about one override. Without
// them the code is about the request.
const zoneWords = "not supported in"

func capacities() []answer {
	return []answer{
		{
			codes: []string{
				codeNoCapacity, "InsufficientHostCapacity", "InsufficientCapacity", "UnfulfillableCapacity",
				"InsufficientAddressCapacity",
			},
			scope: ofOffering, lasts: catalog.UnavailableFor, passes: "capacity changes within minutes",
		},
		{
			codes: []string{"SpotMaxPriceTooLow"}, scope: ofOffering, lasts: catalog.UnavailableFor,
			passes: "a launch names no highest price, so that the spot price is above that on demand, and changes slowly",
		},
		{
			codes: []string{"InsufficientVolumeCapacity"}, scope: ofOffering, lasts: catalog.UnavailableFor,
			passes: "EBS has no room for the volumes in the zone",
		},
		{
			codes: []string{"ReservationCapacityExceeded"}, scope: ofOffering, lasts: time.Minute,
			passes: "the reservation is used up, and its count is read again each minute",
		},
		{
			codes: []string{
				"InvalidCapacityReservationState.Unavailable", "InvalidCapacityReservationState.PendingActivation",
				"InvalidCapacityReservationId.NotFound", "InvalidLaunchTargets",
			},
			scope: ofOffering, lasts: catalog.UnavailableFor,
			passes: "the reservation has ended, has not begun or is being changed",
		},
		{
			codes: []string{"Unsupported", "InvalidInstanceType", "InvalidAvailabilityZone", "InvalidZone.NotFound"},
			scope: ofOffering, lasts: unsuitableFor, passes: "the zone does not have the type, or not with these settings",
		},
		{
			codes: []string{"InvalidFleetConfiguration", "InvalidFleetConfig"}, words: zoneWords, scope: ofOffering,
			lasts: unsuitableFor, passes: "the zone does not have the type with this capacity type",
		},
		{
			codes: []string{"InsufficientFreeAddressesInSubnet", "InsufficientCidrBlocks"}, scope: ofSubnet,
			lasts: catalog.UnavailableFor, reason: "InsufficientFreeAddressesInSubnet",
			remedy: "spec.subnetSelectorTerms selects full subnets: add larger ones",
		},
		{
			codes: []string{"InvalidPlacementGroup.InUse"}, scope: ofGroupZone, lasts: catalog.UnavailableFor,
			passes: "a cluster placement group has instances in another zone",
		},
		{
			codes: []string{"UnsupportedOperation", "UnsupportedTenancy", "InvalidTenancy", "EncryptedVolumesNotSupported"},
			scope: ofSuited, lasts: unsuitableFor, reason: "UnsupportedConfiguration",
			remedy: "the instance type does not run the image, or not with the tenancy or the encrypted volumes: narrow the " +
				"NodePool's requirements, or change the EC2NodeClass",
		},
		{
			codes: []string{"VolumeTypeNotAvailableInZone"}, scope: ofSuited, lasts: unsuitableFor,
			reason: "UnsupportedConfiguration",
			remedy: "the zone does not have a volumeType of spec.blockDeviceMappings: use gp3, or leave the zone out",
		},
		{
			codes: []string{
				"AttachmentLimitExceeded", "PrivateIpAddressLimitExceeded", "InvalidInterface.IpAddressLimitExceeded",
			},
			scope: ofSuited, lasts: unsuitableFor, reason: "InstanceTypeLimitExceeded",
			remedy: "the class asks for more than the instance type takes: lower the volumes of spec.blockDeviceMappings, " +
				"spec.networkInterfaces or spec.ipPrefixCount, or allow larger types only",
		},
	}
}

func quotas() []answer {
	return []answer{
		{
			codes: []string{"VcpuLimitExceeded"}, scope: ofQuota, lasts: quotaFor, reason: "VCPULimitExceeded",
			remedy: "ask AWS for a higher quota of on-demand vCPUs of these families, or allow others in the NodePool",
		},
		{
			codes: []string{"MaxSpotInstanceCountExceeded"}, scope: ofQuota, lasts: quotaFor, reason: "SpotQuotaExceeded",
			remedy: "ask AWS for a higher quota of spot vCPUs, or allow on-demand in the NodePool",
		},
		{
			codes: []string{"InstanceLimitExceeded"}, scope: ofOffering, lasts: quotaFor, reason: "InstanceQuotaExceeded",
			remedy: "ask AWS for a higher quota of instances of the type, or allow other types in the NodePool",
		},
		{
			// An instant fleet counts for moments.
			codes: []string{"MaxFleetCountExceeded", "FleetQuotaExceeded", "MaxSpotFleetRequestCountExceeded"},
			scope: ofRegion, lasts: time.Minute, reason: "FleetQuotaExceeded",
			remedy: "ask AWS for a higher quota of EC2 fleets in the region",
		},
	}
}

func images() []answer {
	image := answer{scope: ofClass, condition: api.ConditionTypeAMIsReady}
	shared, terms, unknown, malformed := image, image, image, image
	shared.codes, shared.words, shared.reason = []string{"AuthFailure"}, "image", "AMIAuthorizationFailure"
	shared.remedy = "spec.amiSelectorTerms selects an image that is not shared with the account: share it, or select " +
		"another"
	terms.codes, terms.words, terms.reason = []string{"OptInRequired"}, "marketplace", "AMISubscriptionRequired"
	terms.remedy = "spec.amiSelectorTerms selects an image of AWS Marketplace: accept the product's terms in this " +
		"account, or select another image"
	unknown.codes, unknown.reason = []string{"InvalidAMIID.NotFound", "InvalidAMIID.Unavailable"}, "AMINotFound"
	unknown.remedy = "an image of spec.amiSelectorTerms does not exist any more, or the account's allowed AMIs leave it " +
		"out: select another, or allow it"
	malformed.codes, malformed.reason = []string{"InvalidAMIID.Malformed", "InvalidAMIID"}, "InvalidAMIID"
	malformed.remedy = "spec.amiSelectorTerms has an invalid image id: correct it"
	product := terms
	product.codes, product.words = []string{"InvalidProductInfo"}, ""
	return []answer{shared, terms, product, unknown, malformed}
}

func networks() []answer {
	mismatch := answer{
		words: "belong to different networks", scope: ofClass,
		reason: "SecurityGroupSubnetVPCMismatch", condition: api.ConditionTypeSecurityGroupsReady,
		remedy: "spec.securityGroupSelectorTerms and spec.subnetSelectorTerms select in different VPCs: " +
			"narrow one of them",
	}
	gone, many, subnets := mismatch, mismatch, mismatch
	gone.words, gone.codes = "", []string{
		"InvalidGroup.NotFound", "InvalidGroupId.Malformed", "InvalidSecurityGroupID.NotFound",
		"InvalidSecurityGroupId.Malformed",
	}
	gone.remedy = "spec.securityGroupSelectorTerms selects a group that does not exist, or is in another VPC than " +
		"the subnets: select another"
	many.words, many.reason = "", "SecurityGroupLimitExceeded"
	many.codes = []string{
		"SecurityGroupsPerInstanceLimitExceeded", "SecurityGroupsPerInterfaceLimitExceeded", "SecurityGroupLimitExceeded",
	}
	many.remedy = "spec.securityGroupSelectorTerms selects more groups than a network interface takes: narrow it, or " +
		"ask AWS for a higher quota"
	subnets.words, subnets.reason, subnets.condition = "", "SubnetResolutionFailed", api.ConditionTypeSubnetsReady
	subnets.codes = []string{
		"InvalidSubnetID.NotFound", "InvalidSubnetId.NotFound", "InvalidSubnetID.Malformed", "InvalidSubnet",
	}
	subnets.remedy = "spec.subnetSelectorTerms selects a subnet that does not exist: select another"
	return []answer{mismatch, gone, many, subnets}
}

func profiles() []answer {
	profile := answer{
		words: "instance profile", scope: ofClass, reason: "InstanceProfileNameInvalid",
		condition: api.ConditionTypeInstanceProfileReady,
		remedy: "spec.instanceProfile, or the profile made for spec.role, does not exist in IAM or holds no role: " +
			"correct the name, or add the role",
	}
	malformed := profile
	malformed.words, malformed.codes = "", []string{"InvalidIamInstanceProfileArn.Malformed"}
	return []answer{profile, malformed}
}

// settings are about fields of the class that EC2 checks at a launch only.
func settings() []answer {
	data := answer{
		words: "user data is limited", scope: ofClass, reason: api.ReasonUserDataSizeLimitExceeded,
		condition: api.ConditionTypeValidationSucceeded, remedy: "shorten spec.userData: EC2 takes 16,384 bytes",
	}
	malformed := data
	malformed.words, malformed.codes, malformed.reason = "", []string{"InvalidUserData.Malformed"}, "InvalidUserData"
	malformed.remedy = "EC2 cannot read spec.userData: correct it"
	tags := data
	tags.words, tags.codes = "", []string{"TagLimitExceeded", "TagPolicyViolation", "InvalidTagKey.Malformed"}
	tags.reason = api.ReasonTagValidationFailed
	tags.remedy = "EC2, or a tag policy of the organization, refuses a tag of spec.tags: correct or remove it"
	named := tags
	named.codes, named.words = []string{codeInvalidValue}, "tag "
	group := data
	group.words, group.codes = "", []string{"InvalidPlacementGroup.Unknown", "InvalidPlacementGroupId.Malformed"}
	group.reason, group.condition = api.ReasonPlacementGroupNotFound, api.ConditionTypePlacementGroupReady
	group.remedy = "spec.placementGroupSelector names a group that does not exist any more: create it, or name another"
	return []answer{data, malformed, tags, named, group}
}

func volumes() []answer {
	key := answer{
		words: "kms key", scope: ofClass, reason: "VolumeKeyInvalid",
		condition: api.ConditionTypeValidationSucceeded,
		remedy: "provision may not use a volume's KMS key: enable it, name it in the setting volumeKeys, and let its " +
			"policy allow provision's role",
	}
	keyCodes := key
	keyCodes.words, keyCodes.codes = "", []string{"CustomerKeyHasBeenRevoked", "InvalidKMSKey.InvalidState"}
	device := key
	device.words, device.reason = "", "InvalidBlockDeviceMapping"
	device.codes = []string{
		"InvalidBlockDeviceMapping", "InvalidSnapshot.NotFound", "InvalidSnapshotID.Malformed", "UnknownVolumeType",
		"BootForVolumeTypeUnsupported", "VolumeIOPSLimit",
	}
	device.remedy = "EC2 refuses a volume of spec.blockDeviceMappings: correct it. A volumeSize must not be below " +
		"that of the image's snapshot"
	rows := []answer{key, keyCodes, device}
	for _, words := range []string{"snapshot", "volume", "iops", "throughput", "device name"} {
		named := device
		named.codes, named.words = []string{codeInvalidValue, "InvalidParameterCombination", "InvalidParameter"}, words
		rows = append(rows, named)
	}
	return rows
}

func accounts() []answer {
	rows := []answer{
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
			codes: []string{"OptInRequired", "Blocked", "AccountDisabled"}, reason: "AccountPendingVerification",
			remedy: "the account may not use EC2 in this region: see the mail of AWS to its owner",
		},
		{
			codes: []string{
				"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch",
				"MissingAuthenticationToken", "IncompleteSignature",
			},
			reason: "CredentialsRefused",
			remedy: "EC2 does not take the function's credentials: see whether the account may use EC2 in this region",
		},
		{
			codes: []string{"VolumeLimitExceeded", "MaxIOPSLimitExceeded"}, reason: "VolumeQuotaExceeded",
			remedy: "ask AWS for a higher quota of EBS storage or IOPS, or lower those of spec.blockDeviceMappings",
		},
		{
			codes: []string{"NetworkInterfaceLimitExceeded"}, reason: "NetworkInterfaceQuotaExceeded",
			remedy: "ask AWS for a higher quota of network interfaces in the region",
		},
		{
			codes:  []string{"MaxTemplateLimitExceeded", "MaxTemplateVersionLimitExceeded"},
			reason: "LaunchTemplateQuotaExceeded",
			remedy: "ask AWS for a higher quota of launch templates in the region, or delete those that nothing uses",
		},
		{
			codes: []string{"ResourceLimitExceeded", "AddressLimitExceeded"}, reason: "ResourceQuotaExceeded",
			remedy: "ask AWS for a higher value of the quota that EC2's message names",
		},
	}
	for i := range rows {
		rows[i].scope = ofAccount
	}
	return rows
}

func requests() []answer {
	return []answer{
		{
			codes: []string{
				"InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound",
				"InvalidLaunchTemplateId.VersionNotFound",
			},
			scope: ofRequest, reason: reasonTemplateNotFound,
			remedy: "EC2 does not know a new launch template for some seconds. Else something deletes the launch templates " +
				"karpenter.k8s.aws/*: stop it",
		},
		{
			codes: []string{"IdempotentInstanceTerminated", "IdempotentParameterMismatch"}, scope: ofRequest,
			reason: api.ReasonLaunchFailed,
			passes: "the instances of an earlier attempt have ended, and the next has another token",
		},
		{
			codes: []string{
				codeInvalidValue, "InvalidParameter", "InvalidParameterCombination", "InvalidParameterDependency",
				"MissingParameter", "UnknownParameter", "InvalidRequest", "InvalidInput", "ValidationError",
				"InvalidFleetConfiguration", "InvalidFleetConfig", "RequestResourceCountExceeded", "ResourceCountExceeded",
				"ClientInvalidParameterValue", "MalformedQueryString", "InvalidQueryParameter", "InvalidCharacter",
				"InvalidClientToken", "OperationNotPermitted", "UnsupportedHibernationConfiguration",
				"InvalidCapacityReservationId.Malformed", "InvalidKeyPair.NotFound", "InvalidNetworkInterfaceID.NotFound",
				"InvalidLaunchTemplateName.MalformedException", "InvalidLaunchTemplateId.Malformed",
			},
			scope: ofRequest, reason: api.ReasonLaunchFailed,
			remedy: "EC2's message names the parameter: correct the field of the EC2NodeClass that sets it",
		},
	}
}

// reasonTemplateNotFound is the reason of a launch template that EC2 does not know.
const reasonTemplateNotFound = "LaunchTemplateNotFound"

// Answer is a row of the table of EC2's error codes, for pages.
type Answer struct {
	Codes []string
	// Words must be in the message. Without codes they alone decide.
	Words string
	// Scope says what the answer is about, and Effect what follows from it.
	Scope, Effect string
	// Lasts is how long the scope's part is left out, or the class refused for it. Zero means that
	// nothing is left out.
	Lasts             time.Duration
	Reason, Condition string
	// Remedy is what a person does, and Passes why nobody has to. One of them is empty.
	Remedy, Passes string
}

// Answers returns the table of EC2's error codes.
func Answers() []Answer {
	var table []Answer
	for _, row := range answers() {
		lasts := row.lasts
		if row.scope == ofClass {
			lasts = nodeclass.RefusalHolds
		}
		table = append(table, Answer{
			Codes: row.codes, Words: row.words, Scope: row.scope.String(), Effect: row.effect(), Lasts: lasts,
			Reason: row.reason, Condition: row.condition, Remedy: row.remedy, Passes: row.passes,
		})
	}
	return table
}

// String says in a few words what the scope is.
func (s scope) String() string {
	return map[scope]string{
		ofOffering: "offering", ofSuited: "offering", ofSubnet: "subnet", ofGroupZone: "zone", ofQuota: "account",
		ofCapacityType: "account", ofRegion: "region", ofClass: "class", ofAccount: "account", ofRequest: "request",
		ofCall: "call",
	}[s]
}

// effect says what follows from the answer.
func (a *answer) effect() string {
	switch a.scope {
	case ofOffering:
		return "leaves out the type in the zone and capacity type"
	case ofSuited:
		return "leaves out the type in the zone and capacity type, for the EC2NodeClass"
	case ofSubnet:
		return "leaves out the subnet, and the zone once all its subnets are full"
	case ofGroupZone:
		return "leaves out the zone for launches into the placement group"
	case ofQuota:
		return "leaves out the families that share the quota, in the capacity type"
	case ofCapacityType:
		return "leaves out the capacity type"
	case ofRegion:
		return "leaves out everything"
	case ofClass:
		return "sets `" + a.condition + "` of the EC2NodeClass to False, or leaves out a part of its offerings"
	case ofAccount, ofRequest:
		if a.reason == api.ReasonLaunchFailed {
			return "fails the claim, and leaves out an offering that EC2 refuses twice"
		}
		return "fails the claim, which is tried again less and less often"
	case ofCall:
		return "repeats the call"
	}
	return ""
}

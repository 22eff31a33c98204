package fleet

import (
	"errors"
	"slices"

	"github.com/aws/smithy-go"
)

// code is EC2's code of the error, or "" when EC2 did not answer.
func code(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorCode()
	}
	return ""
}

// IsGone tells that what the call named exists no more.
func IsGone(err error) bool {
	return slices.Contains([]string{
		"InvalidInstanceID.NotFound", "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound", "NoSuchEntity",
	}, code(err))
}

// IsShortage tells that EC2 has no room for an offering now, by the code of an
// error of CreateFleet. Another offering, or the same one later, may have it.
func IsShortage(code string) bool {
	return slices.Contains([]string{
		"InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity", "Unsupported",
		"InsufficientFreeAddressesInSubnet", "MaxFleetCountExceeded", "ReservationCapacityExceeded",
	}, code)
}

// isMismatch tells that an earlier call with the same client token got through
// with other parameters.
func isMismatch(err error) bool { return code(err) == "IdempotentParameterMismatch" }

// exists tells that what the call would make is there already.
func exists(err error) bool {
	return slices.Contains([]string{"InvalidLaunchTemplateName.AlreadyExistsException", "EntityAlreadyExists"}, code(err))
}

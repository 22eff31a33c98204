package fleet

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

var (
	// ErrRefused means that the launch of the token ended with too few instances, for a reason
	// other than capacity. Only another token gives another result.
	ErrRefused = errors.New("EC2 launched no instance")
	// ErrUnseen means that an earlier call with the token may have launched instances, and that EC2
	// does not show all of them yet. The same call may find them later.
	ErrUnseen = errors.New("an earlier launch may have got through, and EC2 does not show its instances yet: try again")
	// ErrNoReboot means that EC2 refuses to reboot an instance, and would refuse again: the function
	// lacks the right, or the instance does not exist.
	ErrNoReboot = errors.New("EC2 refuses to reboot the instance")
)

// code returns the AWS code of the error, or an empty text when AWS did not answer.
func code(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorCode()
	}
	return ""
}

// message returns the AWS message of the error, or an empty text when AWS did not answer.
func message(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorMessage()
	}
	return ""
}

// IsGone reports whether the error says that an instance, launch template or instance profile does
// not exist. No instance has a malformed id.
func IsGone(err error) bool {
	return slices.Contains([]string{
		"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed", "InvalidLaunchTemplateName.NotFoundException",
		"InvalidLaunchTemplateId.NotFound", "NoSuchEntity",
	}, code(err))
}

// IsUnanswered reports whether AWS did not answer a call, as in a VPC without a way to the service.
func IsUnanswered(err error) bool { return err != nil && code(err) == "" }

// IsDenied reports whether a policy denies the call.
func IsDenied(err error) bool {
	return slices.Contains([]string{"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}, code(err))
}

// isDone reports whether nothing is left to do: the object does not exist, or the call was a dry
// run.
func isDone(err error) bool { return IsGone(err) || code(err) == "DryRunOperation" }

// isPassing reports whether a call failed for a reason that passes without a person: AWS was busy
// or did not answer.
func isPassing(err error) bool {
	var call *smithy.OperationError
	if !errors.As(err, &call) {
		return false
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return true // no answer: the connection, the credentials, or a timeout
	}
	return answer.ErrorFault() == smithy.FaultServer || isPassingCode(answer.ErrorCode())
}

func isPassingCode(code string) bool {
	_, again := retry.DefaultRetryableErrorCodes[code]
	return again || isThrottling(code) || slices.Contains(busyCodes(), code)
}

// IsThrottled reports whether AWS refused the call because of its rate, also after the SDK's
// retries.
func IsThrottled(err error) bool { return isThrottling(code(err)) }

func isThrottling(code string) bool {
	_, busy := retry.DefaultThrottleErrorCodes[code]
	return busy || code == "FleetRequestLimitExceeded"
}

// isMismatch reports whether an earlier call with the same client token succeeded with other
// parameters.
func isMismatch(err error) bool { return code(err) == "IdempotentParameterMismatch" }

// exists reports whether the object of a create call exists already, or would exist but for a dry
// run.
func exists(err error) bool {
	return slices.Contains(
		[]string{"InvalidLaunchTemplateName.AlreadyExistsException", "EntityAlreadyExists", "DryRunOperation"},
		code(err),
	)
}

package fleet

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

var (
	// ErrRefused tells that the token's launch is over and gave too few instances, for a
	// reason other than a lack of room: only another token gives another answer.
	ErrRefused = errors.New("EC2 launched no instance")
	// ErrUnseen tells that an earlier launch with the token got through with other
	// parameters, and that EC2 shows no instance of it: it may come to.
	ErrUnseen = errors.New("an earlier launch got through and EC2 does not show its instance yet: try again")
)

// code is EC2's code of the error, or "" when EC2 did not answer.
func code(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorCode()
	}
	return ""
}

// message is EC2's message of the error, or "" when EC2 did not answer.
func message(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorMessage()
	}
	return ""
}

// IsGone tells that what the call named exists no more.
func IsGone(err error) bool {
	return slices.Contains([]string{
		"InvalidInstanceID.NotFound", "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound", "NoSuchEntity",
	}, code(err))
}

// isDone tells that nothing is left to do about what the call named: it exists no more, or this is a dry run.
func isDone(err error) bool { return IsGone(err) || code(err) == "DryRunOperation" }

// isPassing tells that a call failed for a reason that goes by itself: AWS is busy
// or did not answer, as against an answer that someone must act on.
func isPassing(err error) bool {
	var call *smithy.OperationError
	if !errors.As(err, &call) {
		return false
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return true // no answer: the connection, the credentials, or the time
	}
	return answer.ErrorFault() == smithy.FaultServer || isPassingCode(answer.ErrorCode())
}

func isPassingCode(code string) bool {
	_, again := retry.DefaultRetryableErrorCodes[code]
	return again || isThrottling(code) || slices.Contains([]string{"InternalError", "InternalFailure", "Unavailable", "ServiceUnavailable", "ServerInternal"}, code)
}

// IsThrottled tells that AWS refused the call because there were too many, and did so
// again when it was repeated.
func IsThrottled(err error) bool { return isThrottling(code(err)) }

func isThrottling(code string) bool {
	_, busy := retry.DefaultThrottleErrorCodes[code]
	return busy || code == "FleetRequestLimitExceeded"
}

// isMismatch tells that an earlier call with the same client token got through
// with other parameters.
func isMismatch(err error) bool { return code(err) == "IdempotentParameterMismatch" }

// exists tells that what the call would make is there already, or would be if this were no dry run.
func exists(err error) bool {
	return slices.Contains([]string{"InvalidLaunchTemplateName.AlreadyExistsException", "EntityAlreadyExists", "DryRunOperation"}, code(err))
}

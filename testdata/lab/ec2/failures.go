package ec2

import (
	"net/http"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// errorMessages has EC2's messages for codes whose text does not depend on the request.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func errorMessages() map[string]string {
	return map[string]string{
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted": "The provided credentials do not have permission to create " +
			"the service-linked role for EC2 Spot Instances.",
		"InvalidLaunchTemplateName.NotFoundException": "At least one of the launch templates specified in the request " +
			"does not exist.",
		"InternalError":         "An internal error has occurred",
		"InvalidParameter":      "Security group and subnet belong to different networks.",
		"MaxFleetCountExceeded": "You've reached your quota for the number of EC2 Fleets.",
		"PendingVerification": "Your request for accessing resources in this region is being validated, and " +
			"you will not be able to launch additional resources in this region until the validation is complete.",
		"ServiceUnavailable": "The request has failed due to a temporary failure of the server.",
		"SpotMaxPriceTooLow": "Your Spot request price is lower than the minimum required Spot request " +
			"fulfillment price.",
		"Unavailable":                    "The service is unavailable. Please try again shortly.",
		"UnauthorizedOperation":          "You are not authorized to perform this operation.",
		codeMaxSpotInstanceCountExceeded: "Max spot instance count exceeded",
		codeRequestLimitExceeded:         "Request limit exceeded.",
		codeUnfulfillableCapacity: "Unable to fulfill capacity due to your request configuration. Please adjust " +
			"your request and try again.",
		codeVcpuLimitExceeded: "You have requested more vCPU capacity than your current vCPU limit allows for the " +
			"instance bucket that the specified instance type belongs to.",
	}
}

// statusOfCode is the HTTP status with which EC2 answers a code.
func statusOfCode(code string) int {
	switch code {
	case "InternalError", "InternalFailure":
		return http.StatusInternalServerError
	case codeRequestLimitExceeded, "ServiceUnavailable", "Unavailable":
		return http.StatusServiceUnavailable
	case "UnauthorizedOperation", "AuthFailure":
		return http.StatusForbidden
	case codeDryRunOperation:
		return http.StatusPreconditionFailed
	}
	return http.StatusBadRequest
}

// CallFailure makes whole calls fail.
type CallFailure struct {
	// Action is a pattern of EC2's actions with * and ?, such as CreateFleet.
	Action string `json:"action"`
	// Code is the error's code; Message its text, EC2's own if empty.
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	// Times is the number of calls that fail; 0 means all.
	Times int `json:"times,omitempty"`
	// Done carries the call out and then loses its answer, so that the caller cannot know the
	// result.
	Done bool `json:"done,omitempty"`
	// Until ends it; zero is never.
	Until time.Time `json:"until,omitzero"`
}

// FailCalls adds a failure; a code that is empty ends those of exactly this action.
func (s *Service) FailCalls(f CallFailure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Code == "" {
		kept := s.failures[:0]
		for _, other := range s.failures {
			if other.Action != f.Action {
				kept = append(kept, other)
			}
		}
		s.failures = kept
		return
	}
	s.failures = append(s.failures, &f)
}

// failing returns the error that a call must fail with; done means that the call is carried out
// first.
func (s *Service) failing(action string) (err error, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for n, f := range s.failures {
		if !wildcard(f.Action, action) || !f.Until.IsZero() && now.After(f.Until) {
			continue
		}
		if f.Times == 1 {
			s.failures = append(append([]*CallFailure{}, s.failures[:n]...), s.failures[n+1:]...)
		} else if f.Times > 1 {
			f.Times--
		}
		message := f.Message
		if message == "" {
			message = errorMessages()[f.Code]
		}
		if message == "" {
			message = "The call " + action + " failed with " + f.Code + "."
		}
		return wire.Errorf(f.Code, statusOfCode(f.Code), "%s", message), f.Done
	}
	return nil, false
}

package ec2

import (
	"net/http"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// The codes are those of
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
const (
	codeDryRunOperation              = "DryRunOperation"
	codeIdempotentParameterMismatch  = "IdempotentParameterMismatch"
	codeInsufficientFreeAddresses    = "InsufficientFreeAddressesInSubnet"
	codeInsufficientInstanceCapacity = "InsufficientInstanceCapacity"
	codeInvalidFleetConfiguration    = "InvalidFleetConfiguration"
	codeInvalidParameterCombination  = "InvalidParameterCombination"
	codeInvalidParameterValue        = "InvalidParameterValue"
	codeMaxSpotInstanceCountExceeded = "MaxSpotInstanceCountExceeded"
	codeMissingParameter             = "MissingParameter"
	codeRequestLimitExceeded         = "RequestLimitExceeded"
	codeUnfulfillableCapacity        = "UnfulfillableCapacity"
	codeUnknownParameter             = "UnknownParameter"
	codeUnsupported                  = "Unsupported"
	codeVcpuLimitExceeded            = "VcpuLimitExceeded"
)

// refuse is an error of the caller's making, which EC2 answers with status 400.
func refuse(code, format string, args ...any) error {
	return wire.Errorf(code, http.StatusBadRequest, format, args...)
}

func missing(parameter string) error {
	return refuse(codeMissingParameter, "The request must contain the parameter %s", parameter)
}

func invalidValue(value any, parameter, why string) error {
	return refuse(codeInvalidParameterValue, "Value (%v) for parameter %s is invalid. %s", value, parameter, why)
}

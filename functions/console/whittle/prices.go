package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/whittle-dev/whittle/functions/console/instancetypes"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
)

// These are the values of the flag -prices.
const (
	pricesBuiltin = "built-in"
	pricesAWS     = "aws"
)

// table reads the instance types that the flags name. It returns nil where they name none and a
// cluster has its own.
func (f *planFlags) table(ctx context.Context, in io.Reader, now time.Time) (*instancetypes.Table, error) {
	switch {
	case f.instanceTypes != "":
		return instancetypes.Read(f.instanceTypes, in, now)
	case f.prices == pricesAWS:
		return todaysTable(ctx, f.region, now)
	case len(f.files) > 0 || f.prices == pricesBuiltin:
		return instancetypes.Builtin(now)
	}
	return nil, nil
}

// todaysTable reads types and prices from AWS with the caller's credentials.
func todaysTable(ctx context.Context, region string, now time.Time) (*instancetypes.Table, error) {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return nil, errors.New("no region: pass -region, or set AWS_REGION")
	}
	reader, err := ec2catalog.NewReader(loaded, catalog.Settings{})
	if err != nil {
		return nil, err
	}
	facts, err := reader.Read(ctx, now, nil)
	if err != nil {
		return nil, mendAWS(err)
	}
	return instancetypes.OfAWS(facts, now), nil
}

// mendAWS makes one line of an error of AWS, with what a person can do.
func mendAWS(err error) error {
	text := oneLine(err)
	for _, sign := range []struct{ part, remedy string }{
		{"get credentials", "there are no AWS credentials: sign in, as with `aws sso login`, or set AWS_PROFILE"},
		{"get identity", "there are no AWS credentials: sign in, as with `aws sso login`, or set AWS_PROFILE"},
		{"ExpiredToken", "the AWS credentials have expired: sign in again"},
		{"RequestExpired", "the AWS credentials have expired: sign in again"},
		{"UnauthorizedOperation", "allow the caller ec2:Describe* and pricing:GetProducts"},
		{"AccessDenied", "allow the caller ec2:Describe* and pricing:GetProducts"},
		{"no such host", "there is no such endpoint: is the region's name right, and the network up?"},
		{"dial tcp", "AWS cannot be reached: is the network up?"},
	} {
		if strings.Contains(text, sign.part) {
			return fmt.Errorf("%s (%s)", sign.remedy, text)
		}
	}
	return errors.New(text)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

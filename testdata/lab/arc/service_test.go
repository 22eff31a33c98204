package arc_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/testdata/lab/arc"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

const cluster = "arn:aws:eks:us-east-1:123456789012:cluster/prod"

func TestAShiftBeginsAndIsCancelled(t *testing.T) {
	service := arc.New("use1-az1", "use1-az2")
	client := arczonalshift.NewFromConfig(wiretest.Listen(t, wire.NewServer(), service))
	resource := &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(cluster)}
	var refusal smithy.APIError
	if _, err := client.GetManagedResource(t.Context(), resource); !errors.As(err, &refusal) ||
		refusal.ErrorCode() != "ResourceNotFoundException" {
		t.Errorf("a resource that is not enrolled: %v", err)
	}
	service.Enrol(cluster)
	shift := &arczonalshift.StartZonalShiftInput{
		AwayFrom: aws.String("use1-az1"), Comment: aws.String("a test"), ExpiresIn: aws.String("20m"),
		ResourceIdentifier: aws.String(cluster),
	}
	begun, err := client.StartZonalShift(t.Context(), shift)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StartZonalShift(t.Context(), shift); !errors.As(err, &refusal) ||
		refusal.ErrorCode() != "ConflictException" {
		t.Errorf("a second shift: %v", err)
	}
	seen, err := client.GetManagedResource(t.Context(), resource)
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.ZonalShifts) != 1 || *seen.ZonalShifts[0].AwayFrom != "use1-az1" ||
		seen.ZonalShifts[0].AppliedStatus != types.AppliedStatusApplied ||
		!seen.ZonalShifts[0].ExpiryTime.Equal(*begun.ExpiryTime) || seen.AppliedWeights["use1-az1"] != 0 ||
		seen.AppliedWeights["use1-az2"] != 1 {
		t.Errorf("the resource is %+v", seen)
	}
	_, err = client.CancelZonalShift(t.Context(), &arczonalshift.CancelZonalShiftInput{ZonalShiftId: begun.ZonalShiftId})
	if err != nil {
		t.Fatal(err)
	}
	if seen, err = client.GetManagedResource(t.Context(), resource); err != nil || len(seen.ZonalShifts) != 0 {
		t.Errorf("after the cancellation: %+v, %v", seen, err)
	}
	shift.ExpiresIn = aws.String("100h")
	if _, err := client.StartZonalShift(t.Context(), shift); err == nil {
		t.Error("a shift of 100 hours begins")
	}
}

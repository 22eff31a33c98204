package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// capacityReservations reads the active reservations that the class's terms select, with the number
// of free instances of each.
func (d *Discoverer) capacityReservations(
	ctx context.Context, class *api.EC2NodeClass,
) ([]nodeclass.CapacityReservation, error) {
	var found []nodeclass.CapacityReservation
	for _, term := range class.Spec.CapacityReservationSelectorTerms {
		by := append(
			tagFilters(term.Tags),
			types.Filter{Name: aws.String("state"), Values: []string{string(types.CapacityReservationStateActive)}},
		)
		if term.OwnerID != "" {
			by = append(by, types.Filter{Name: aws.String("owner-id"), Values: []string{term.OwnerID}})
		}
		if term.InstanceMatchCriteria != "" {
			by = append(
				by,
				types.Filter{Name: aws.String("instance-match-criteria"), Values: []string{term.InstanceMatchCriteria}},
			)
		}
		input := &ec2.DescribeCapacityReservationsInput{Filters: by, MaxResults: manyResults()}
		if term.ID != "" {
			input.CapacityReservationIds, input.MaxResults = []string{term.ID}, nil
		}
		pages := ec2.NewDescribeCapacityReservationsPaginator(d.EC2, input)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if code(err) == "InvalidCapacityReservationId.NotFound" {
				break // a missing reservation may be in the future or over, and selects nothing
			}
			if err != nil {
				return nil, fmt.Errorf("reading the capacity reservations of spec.capacityReservationSelectorTerms: %w", err)
			}
			for _, described := range page.CapacityReservations {
				found = append(found, capacityReservation(described))
			}
		}
	}
	return found, nil
}

// ReservationEnd returns when a capacity reservation ends. It is zero for a reservation without an
// end, and for one that does not exist.
func (c *Client) ReservationEnd(ctx context.Context, id string) (time.Time, error) {
	out, err := c.ec2.DescribeCapacityReservations(
		ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}},
	)
	if code(err) == "InvalidCapacityReservationId.NotFound" {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the end of capacity reservation %s: %w", id, err)
	}
	for _, described := range out.CapacityReservations {
		if described.EndDate != nil {
			return *described.EndDate, nil
		}
	}
	return time.Time{}, nil
}

func capacityReservation(described types.CapacityReservation) nodeclass.CapacityReservation {
	made := nodeclass.CapacityReservation{
		CapacityReservation: api.CapacityReservation{
			ID:                    aws.ToString(described.CapacityReservationId),
			AvailabilityZone:      aws.ToString(described.AvailabilityZone),
			InstanceType:          aws.ToString(described.InstanceType),
			InstanceMatchCriteria: string(described.InstanceMatchCriteria),
			OwnerID:               aws.ToString(described.OwnerId),
			ReservationType:       api.CapacityReservationTypeDefault,
			Interruptible:         aws.ToBool(described.Interruptible),
		},
		AvailableInstances: int(aws.ToInt32(described.AvailableInstanceCount)),
	}
	if described.ReservationType == types.CapacityReservationTypeCapacityBlock {
		made.ReservationType = api.CapacityReservationTypeCapacityBlock
	}
	if described.EndDate != nil {
		made.EndTime = &metav1.Time{Time: *described.EndDate}
	}
	return made
}

// placementGroup reads the placement group that the class selects. It returns nil where the class
// selects none, or the group is not available.
func (d *Discoverer) placementGroup(ctx context.Context, class *api.EC2NodeClass) (*api.PlacementGroup, error) {
	selector := class.Spec.PlacementGroupSelector
	if selector == nil {
		return nil, nil
	}
	input := &ec2.DescribePlacementGroupsInput{}
	if selector.ID != "" {
		input.GroupIds = []string{selector.ID}
	} else {
		input.GroupNames = []string{selector.Name}
	}
	output, err := d.EC2.DescribePlacementGroups(ctx, input)
	switch code(err) {
	case "InvalidPlacementGroup.Unknown", "InvalidPlacementGroupId.Malformed", "InvalidPlacementGroupId.NotFound":
		return nil, nil
	}
	if err != nil {
		return nil, &reasonError{
			api.ReasonPlacementGroupResolutionFailed,
			fmt.Errorf("reading the placement group of spec.placementGroupSelector: %w", err),
		}
	}
	for _, group := range output.PlacementGroups {
		if group.State == types.PlacementGroupStateAvailable {
			return &api.PlacementGroup{
				ID: aws.ToString(group.GroupId), Name: aws.ToString(group.GroupName), Strategy: string(group.Strategy),
				PartitionCount: aws.ToInt32(group.PartitionCount), SpreadLevel: string(group.SpreadLevel),
			}, nil
		}
	}
	return nil, nil
}

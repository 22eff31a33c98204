package fleet

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/commitment"
)

// OnDemand lists the account's instances in the region that commitments may pay for, those of this cluster and all
// others. Spot instances and those of capacity blocks take nothing of commitments. An instance that is still pending
// counts, because it is about to.
func (c *Client) OnDemand(ctx context.Context) ([]commitment.Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(c.ec2, &ec2.DescribeInstancesInput{
		MaxResults: manyResults(),
		Filters:    []types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}}},
	})
	var found []commitment.Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the account's instances: %w", err)
		}
		for _, reservation := range page.Reservations {
			for i := range reservation.Instances {
				if one := &reservation.Instances[i]; one.InstanceLifecycle == "" {
					found = append(found, c.usage(one))
				}
			}
		}
	}
	return found, nil
}

func (c *Client) usage(described *types.Instance) commitment.Instance {
	made := commitment.Instance{
		ID: aws.ToString(described.InstanceId), Type: string(described.InstanceType),
		Platform: commitment.PlatformOf(aws.ToString(described.PlatformDetails)),
	}
	if described.Placement != nil {
		made.Zone = aws.ToString(described.Placement.AvailabilityZone)
		made.Dedicated = described.Placement.Tenancy == types.TenancyDedicated
	}
	for _, tag := range described.Tags {
		if aws.ToString(tag.Key) == api.EKSClusterNameTagKey {
			made.Cluster = aws.ToString(tag.Value)
			made.Own = made.Cluster == c.cluster
		}
	}
	return made
}

package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/singleflight"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Instance is an EC2 instance of the cluster.
type Instance struct {
	ID           string
	InstanceType string
	Zone         string
	SubnetID     string
	// SecurityGroupIDs are the groups of its first network interface.
	SecurityGroupIDs []string
	CapacityType     string // spot, on-demand or reserved
	// ReservationID is the capacity reservation that a reserved instance runs in.
	ReservationID string
	ImageID       string
	// HostName is the private DNS name, which EKS makes the name of the instance's Node. EC2 may tell it
	// some seconds after the launch, and no more once the instance ends.
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html
	HostName   string
	State      string // EC2's name: pending, running, stopping, stopped, shutting-down or terminated
	LaunchTime time.Time
	Partition  int // partition of its placement group, counted from 1, or 0 without one
	Tags       map[string]string
	// StateReason is EC2's code and message of the last change of the state, if it tells them.
	StateReason string
}

// ProviderID returns the instance's name in Kubernetes.
func (i Instance) ProviderID() string { return api.ProviderID(i.Zone, i.ID) }

// Client launches, lists, tags and terminates the instances of one cluster. It is safe for
// concurrent use. Each method returns EC2's error wrapped; IsThrottled classifies it.
type Client struct {
	ec2     *ec2.Client
	fleets  *ec2.Client // for CreateFleet only
	cluster string

	making singleflight.Group // creates launch templates, by their names
	ends   batch              // of TerminateInstances

	mutex     sync.Mutex
	templates map[string]bool // launch templates known to exist, which saves a warm container the call
}

// New returns a client for the instances that have the cluster's tags.
func New(client *ec2.Client, cluster string) *Client {
	return NewLauncher(client, client, cluster)
}

// NewLauncher is New with a separate client for CreateFleet. EC2 limits the rate of each action,
// and a throttled SDK client slows down all of its actions.
func NewLauncher(client, fleets *ec2.Client, cluster string) *Client {
	return &Client{ec2: client, fleets: fleets, cluster: cluster, templates: map[string]bool{}}
}

func (c *Client) known(template string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.templates[template]
}

func (c *Client) remember(template string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.templates[template] = true
}

func (c *Client) forget(template string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.templates, template)
}

// Instances lists the instances that have the cluster's tags and are not terminated. It proves
// nothing of an instance that it leaves out: EC2 shows a new instance some seconds after its
// launch, and somebody may have removed the tags. Describe tells of such an instance.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	return c.instances(ctx)
}

// InstancesOfClaim lists the instances that were launched for the NodeClaim, by their tag. EC2 may
// show a new tag some seconds late.
func (c *Client) InstancesOfClaim(ctx context.Context, claim string) ([]Instance, error) {
	return c.instances(ctx, types.Filter{Name: aws.String("tag:" + api.NodeClaimTagKey), Values: []string{claim}})
}

// InstancesOfBatch lists the instances that were launched with the token of a batch, by their tag.
func (c *Client) InstancesOfBatch(ctx context.Context, token string) ([]Instance, error) {
	return c.instances(ctx, types.Filter{Name: aws.String("tag:" + api.BatchTagKey), Values: []string{token}})
}

// InstancesOf lists the instances that were launched for the claim, or for its batch.
func (c *Client) InstancesOf(ctx context.Context, claim *api.NodeClaim) ([]Instance, error) {
	if batch, err := launch.BatchOf(claim); err == nil && batch.ID != "" {
		return c.InstancesOfBatch(ctx, launch.Token(claim))
	}
	return c.InstancesOfClaim(ctx, claim.Name)
}

// FreeAddresses returns the number of free addresses of each subnet, by subnet id. A subnet that
// does not exist is not in the result.
func (c *Client) FreeAddresses(ctx context.Context, subnets []string) (map[string]int, error) {
	free := map[string]int{}
	// A filter ignores missing ids; the list of ids would fail the call.
	pages := ec2.NewDescribeSubnetsPaginator(
		c.ec2, &ec2.DescribeSubnetsInput{
			MaxResults: manyResults(), Filters: []types.Filter{{Name: aws.String("subnet-id"), Values: subnets}},
		},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the free addresses of subnets: %w", err)
		}
		for _, subnet := range page.Subnets {
			free[aws.ToString(subnet.SubnetId)] = int(aws.ToInt32(subnet.AvailableIpAddressCount))
		}
	}
	return free, nil
}

// manyResults is the largest page of most lists.
func manyResults() *int32 { return aws.Int32(1000) }

func (c *Client) instances(ctx context.Context, more ...types.Filter) ([]Instance, error) {
	input := &ec2.DescribeInstancesInput{MaxResults: manyResults(), Filters: append([]types.Filter{
		{Name: aws.String("tag:" + api.EKSClusterNameTagKey), Values: []string{c.cluster}},
		{Name: aws.String("tag-key"), Values: []string{api.NodePoolLabelKey}},
		{
			Name:   aws.String("instance-state-name"),
			Values: []string{"pending", "running", "stopping", "stopped", "shutting-down"},
		},
	}, more...)}
	var found []Instance
	pages := ec2.NewDescribeInstancesPaginator(c.ec2, input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the instances of cluster %q: %w", c.cluster, err)
		}
		for _, reservation := range page.Reservations {
			for _, described := range reservation.Instances {
				found = append(found, instance(described))
			}
		}
	}
	return found, nil
}

// Terminate terminates the instance. It succeeds for an instance that does not exist. Calls at once share
// a call to EC2.
func (c *Client) Terminate(ctx context.Context, id string) error {
	err := c.ends.do(ctx, id, func(ctx context.Context, ids []string) error {
		_, err := c.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
		return err
	})
	if err != nil && !isDone(err) {
		return fmt.Errorf("terminating instance %s: %w", id, err)
	}
	return nil
}

// Reboot asks EC2 to reboot the instance, which happens soon after. A repeated call may reboot it
// again. The error is ErrNoReboot where another call would not help.
func (c *Client) Reboot(ctx context.Context, id string) error {
	_, err := c.ec2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{id}})
	switch {
	case err == nil || code(err) == "DryRunOperation":
		return nil
	case IsGone(err) || IsDenied(err):
		return fmt.Errorf("%w %s: %w", ErrNoReboot, id, err)
	}
	return fmt.Errorf("rebooting instance %s: %w", id, err)
}

// Tag writes tags on the instance. It succeeds for an instance that does not exist.
func (c *Client) Tag(ctx context.Context, id string, tags map[string]string) error {
	_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: tagList(tags)})
	if err != nil && !isDone(err) {
		return fmt.Errorf("tagging instance %s: %w", id, err)
	}
	return nil
}

func instance(described types.Instance) Instance {
	made := Instance{
		ID:           aws.ToString(described.InstanceId),
		InstanceType: string(described.InstanceType),
		CapacityType: api.CapacityTypeOnDemand,
		SubnetID:     aws.ToString(described.SubnetId),
		ImageID:      aws.ToString(described.ImageId),
		HostName:     aws.ToString(described.PrivateDnsName),
		LaunchTime:   aws.ToTime(described.LaunchTime),
		Tags:         make(map[string]string, len(described.Tags)),
	}
	if described.Placement != nil {
		made.Zone = aws.ToString(described.Placement.AvailabilityZone)
		made.Partition = int(aws.ToInt32(described.Placement.PartitionNumber))
	}
	if described.State != nil {
		made.State = string(described.State.Name)
	}
	if why := described.StateReason; why != nil {
		made.StateReason = aws.ToString(why.Message)
		if code := aws.ToString(why.Code); !strings.HasPrefix(made.StateReason, code) {
			made.StateReason = code + ": " + made.StateReason
		}
	}
	if described.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		made.CapacityType = api.CapacityTypeSpot
	}
	// Whittle's launches name a reservation or exclude all of them, so an instance in one is
	// reserved.
	if id := aws.ToString(described.CapacityReservationId); id != "" {
		made.CapacityType, made.ReservationID = api.CapacityTypeReserved, id
	}
	for _, group := range described.SecurityGroups {
		made.SecurityGroupIDs = append(made.SecurityGroupIDs, aws.ToString(group.GroupId))
	}
	for _, tag := range described.Tags {
		made.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return made
}

package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// parameterBatch is how many parameters SSM reads in one call.
const parameterBatch = 10

// Discoverer reads what an EC2NodeClass selects.
type Discoverer struct {
	EC2      *ec2.Client
	SSM      *ssm.Client
	Profiles Profiles
	// Kubernetes is the cluster's minor version, such as 1.36, by which the images
	// of an alias are named.
	Kubernetes string
}

// Discover reads the facts that nodeclass.Resolve turns into the class's status.
// What the class's owner must mend becomes a problem in the facts. The error is
// for what another try may mend, such as an API that throttles: nothing is to be
// concluded from it, least of all that a class selects nothing.
func (d *Discoverer) Discover(ctx context.Context, class *api.EC2NodeClass) (nodeclass.Facts, error) {
	var facts nodeclass.Facts
	for _, read := range []struct {
		problem *string
		read    func() error
	}{
		{&facts.SubnetsProblem, func() (err error) { facts.Subnets, err = d.subnets(ctx, class); return err }},
		{&facts.SecurityGroupsProblem, func() (err error) { facts.SecurityGroups, err = d.securityGroups(ctx, class); return err }},
		{&facts.ImagesProblem, func() (err error) { facts.Images, err = d.images(ctx, class); return err }},
		{&facts.InstanceProfileProblem, func() (err error) { facts.InstanceProfile, err = d.Profiles.Ensure(ctx, class); return err }},
	} {
		err := read.read()
		if isPassing(err) {
			return facts, err
		}
		if err != nil {
			*read.problem = err.Error()
		}
	}
	return facts, nil
}

func (d *Discoverer) subnets(ctx context.Context, class *api.EC2NodeClass) ([]nodeclass.Subnet, error) {
	var found []nodeclass.Subnet
	for _, term := range class.Spec.SubnetSelectorTerms {
		output, err := d.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: filters(term.Tags, "subnet-id", term.ID)})
		if err != nil {
			return nil, fmt.Errorf("reading the subnets of spec.subnetSelectorTerms: %w", err)
		}
		for _, subnet := range output.Subnets {
			found = append(found, nodeclass.Subnet{
				ID: aws.ToString(subnet.SubnetId), Zone: aws.ToString(subnet.AvailabilityZone), ZoneID: aws.ToString(subnet.AvailabilityZoneId),
				FreeAddresses: int(aws.ToInt32(subnet.AvailableIpAddressCount)),
			})
		}
	}
	return found, nil
}

func (d *Discoverer) securityGroups(ctx context.Context, class *api.EC2NodeClass) ([]api.SecurityGroup, error) {
	var found []api.SecurityGroup
	for _, term := range class.Spec.SecurityGroupSelectorTerms {
		by := filters(term.Tags, "group-id", term.ID)
		if term.Name != "" {
			by = append(by, types.Filter{Name: aws.String("group-name"), Values: []string{term.Name}})
		}
		output, err := d.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: by})
		if err != nil {
			return nil, fmt.Errorf("reading the groups of spec.securityGroupSelectorTerms: %w", err)
		}
		for _, group := range output.SecurityGroups {
			found = append(found, api.SecurityGroup{ID: aws.ToString(group.GroupId), Name: aws.ToString(group.GroupName)})
		}
	}
	return found, nil
}

// images reads the images of the class's alias and of its other terms.
func (d *Discoverer) images(ctx context.Context, class *api.EC2NodeClass) ([]nodeclass.Image, error) {
	parameters, err := nodeclass.Parameters(class, d.Kubernetes)
	if err != nil {
		return nil, fmt.Errorf("spec.amiSelectorTerms: %w", err)
	}
	for _, term := range class.Spec.AMISelectorTerms {
		if term.SSMParameter != "" {
			if parameters == nil {
				parameters = map[string]nodeclass.Image{}
			}
			parameters[term.SSMParameter] = nodeclass.Image{}
		}
	}
	found, err := d.parameterImages(ctx, parameters)
	if err != nil {
		return nil, err
	}
	for _, term := range class.Spec.AMISelectorTerms {
		if term.Alias != "" || term.SSMParameter != "" {
			continue
		}
		by := filters(term.Tags, "image-id", term.ID)
		if term.Name != "" {
			by = append(by, types.Filter{Name: aws.String("name"), Values: []string{term.Name}})
		}
		input := &ec2.DescribeImagesInput{Filters: by, IncludeDeprecated: aws.Bool(true)}
		switch {
		case term.Owner != "":
			input.Owners = []string{term.Owner}
		case term.ID == "":
			input.Owners = []string{"self", "amazon"} // or anyone's image of that name would do
		}
		described, err := d.describe(ctx, input)
		if err != nil {
			return nil, err
		}
		found = append(found, described...)
	}
	return found, nil
}

// parameterImages reads the images whose ids the SSM parameters hold. What the
// parameter's name says of an image stands; the image tells the rest.
func (d *Discoverer) parameterImages(ctx context.Context, parameters map[string]nodeclass.Image) ([]nodeclass.Image, error) {
	if len(parameters) == 0 {
		return nil, nil
	}
	variants := map[string]nodeclass.Variant{}
	var missing []string
	for names := range slices.Chunk(slices.Sorted(maps.Keys(parameters)), parameterBatch) {
		output, err := d.SSM.GetParameters(ctx, &ssm.GetParametersInput{Names: names})
		if err != nil {
			return nil, fmt.Errorf("reading the SSM parameters of spec.amiSelectorTerms: %w", err)
		}
		for _, parameter := range output.Parameters {
			variants[aws.ToString(parameter.Value)] = parameters[aws.ToString(parameter.Name)].Variant
		}
		missing = append(missing, output.InvalidParameters...)
	}
	if len(variants) == 0 {
		return nil, fmt.Errorf("none of the SSM parameters of spec.amiSelectorTerms exists: %s", strings.Join(missing, ", "))
	}
	found, err := d.describe(ctx, &ec2.DescribeImagesInput{ImageIds: slices.Sorted(maps.Keys(variants)), IncludeDeprecated: aws.Bool(true)})
	for i := range found {
		found[i].Variant = variants[found[i].ID]
	}
	return found, err
}

func (d *Discoverer) describe(ctx context.Context, input *ec2.DescribeImagesInput) ([]nodeclass.Image, error) {
	var found []nodeclass.Image
	pages := ec2.NewDescribeImagesPaginator(d.EC2, input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the images of spec.amiSelectorTerms: %w", err)
		}
		for _, image := range page.Images {
			if image.State != types.ImageStateAvailable {
				continue
			}
			made := nodeclass.Image{ID: aws.ToString(image.ImageId), Name: aws.ToString(image.Name), Architecture: architecture(image.Architecture)}
			if created, err := time.Parse(time.RFC3339, aws.ToString(image.CreationDate)); err == nil {
				made.Created = created
			}
			if deprecation, err := time.Parse(time.RFC3339, aws.ToString(image.DeprecationTime)); err == nil {
				made.Deprecated = deprecation.Before(time.Now())
			}
			found = append(found, made)
		}
	}
	return found, nil
}

// architecture is Kubernetes' name, or "" for one that nodes do not run on.
func architecture(value types.ArchitectureValues) string {
	switch value {
	case types.ArchitectureValuesX8664:
		return api.ArchitectureAmd64
	case types.ArchitectureValuesArm64:
		return api.ArchitectureArm64
	}
	return ""
}

// filters are EC2's for a selector term: an id, or tags of which the value *
// stands for any.
func filters(tags map[string]string, idFilter, id string) []types.Filter {
	if id != "" {
		return []types.Filter{{Name: aws.String(idFilter), Values: []string{id}}}
	}
	var list []types.Filter
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if value := tags[key]; value == "*" {
			list = append(list, types.Filter{Name: aws.String("tag-key"), Values: []string{key}})
		} else {
			list = append(list, types.Filter{Name: aws.String("tag:" + key), Values: []string{value}})
		}
	}
	return list
}

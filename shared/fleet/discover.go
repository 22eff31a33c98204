package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// parameterBatch is the maximum number of parameters of one call of GetParameters.
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html
const parameterBatch = 10

// Discoverer reads the resources that an EC2NodeClass selects.
type Discoverer struct {
	EC2      *ec2.Client
	SSM      *ssm.Client
	Profiles Profiles
	// Cluster holds the facts that a node needs to join, for the class's user data.
	Cluster nodeclass.Cluster
	// Kubernetes is the cluster's minor version, such as 1.36. It selects the images of an alias.
	Kubernetes string
	// Now is the time by which images are deprecated.
	Now time.Time
}

// Discover reads the facts from which nodeclass.Resolve computes the class's status. A fault that
// the class's owner must correct becomes a problem in the facts. The error is for faults that may
// pass, such as throttling. With an error the facts prove nothing, and must not be used.
func (d *Discoverer) Discover(ctx context.Context, class *api.EC2NodeClass) (nodeclass.Facts, error) {
	facts := nodeclass.Facts{Cluster: d.Cluster}
	reads := []struct {
		problem *nodeclass.Problem
		read    func() error
	}{
		{&facts.SubnetsProblem, func() (err error) {
			facts.Subnets, err = d.subnets(ctx, class)
			return err
		}},
		{&facts.SecurityGroupsProblem, func() (err error) {
			facts.SecurityGroups, err = d.securityGroups(ctx, class)
			return err
		}},
		{&facts.ImagesProblem, func() (err error) {
			facts.Images, err = d.images(ctx, class)
			return err
		}},
		{&facts.InstanceProfileProblem, func() (err error) {
			facts.InstanceProfile, err = d.Profiles.Ensure(ctx, class)
			return err
		}},
		{&facts.CapacityReservationsProblem, func() (err error) {
			facts.CapacityReservations, err = d.capacityReservations(ctx, class)
			return err
		}},
		{&facts.PlacementGroupProblem, func() (err error) {
			facts.PlacementGroup, err = d.placementGroup(ctx, class)
			return err
		}},
	}
	// None depends on another, and Lambda bills the time in which the function waits.
	failures := make([]error, len(reads))
	var group sync.WaitGroup
	for i, read := range reads {
		group.Go(func() { failures[i] = read.read() })
	}
	group.Wait()
	for i, read := range reads {
		err := failures[i]
		if isPassing(err) {
			return facts, err
		}
		if err != nil {
			var because *reasonError
			*read.problem = nodeclass.Problem{Message: err.Error()}
			if errors.As(err, &because) {
				read.problem.Reason = because.reason
			}
		}
	}
	return facts, nil
}

// reasonError is an error with its own condition reason.
type reasonError struct {
	reason string
	error
}

func (e *reasonError) Unwrap() error { return e.error }

func (d *Discoverer) subnets(ctx context.Context, class *api.EC2NodeClass) ([]nodeclass.Subnet, error) {
	var found []nodeclass.Subnet
	for _, term := range class.Spec.SubnetSelectorTerms {
		pages := ec2.NewDescribeSubnetsPaginator(d.EC2, &ec2.DescribeSubnetsInput{
			Filters: filters(term.Tags, "subnet-id", term.ID), MaxResults: manyResults(),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("reading the subnets of spec.subnetSelectorTerms: %w", err)
			}
			for _, subnet := range page.Subnets {
				found = append(found, nodeclass.Subnet{
					ID: aws.ToString(subnet.SubnetId), Zone: aws.ToString(subnet.AvailabilityZone),
					ZoneID:        aws.ToString(subnet.AvailabilityZoneId),
					FreeAddresses: int(aws.ToInt32(subnet.AvailableIpAddressCount)),
					PublicIPv4:    aws.ToBool(subnet.MapPublicIpOnLaunch),
					OutpostARN:    aws.ToString(subnet.OutpostArn),
				})
			}
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
		pages := ec2.NewDescribeSecurityGroupsPaginator(
			d.EC2, &ec2.DescribeSecurityGroupsInput{Filters: by, MaxResults: manyResults()},
		)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("reading the groups of spec.securityGroupSelectorTerms: %w", err)
			}
			for _, group := range page.SecurityGroups {
				found = append(found, api.SecurityGroup{ID: aws.ToString(group.GroupId), Name: aws.ToString(group.GroupName)})
			}
		}
	}
	return found, nil
}

// images reads the images of the class's alias and of its other terms.
func (d *Discoverer) images(ctx context.Context, class *api.EC2NodeClass) ([]nodeclass.Image, error) {
	parameters, err := nodeclass.Parameters(class, d.Kubernetes)
	if err != nil {
		return nil, &reasonError{api.ReasonUnsupportedAlias, fmt.Errorf("spec.amiSelectorTerms: %w", err)}
	}
	names := slices.Sorted(maps.Keys(parameters))
	for _, term := range class.Spec.AMISelectorTerms {
		if term.SSMParameter != "" {
			names = append(names, term.SSMParameter)
		}
	}
	values, err := d.parameterValues(ctx, names)
	if err != nil {
		return nil, err
	}
	found, err := d.aliasImages(ctx, parameters, values)
	if err != nil {
		return nil, err
	}
	for _, term := range class.Spec.AMISelectorTerms {
		value := values[term.SSMParameter]
		if term.Alias != "" || term.SSMParameter != "" && value == "" {
			continue
		}
		selected, err := d.termImages(ctx, term, value)
		if err != nil {
			return nil, err
		}
		found = append(found, selected...)
	}
	return found, nil
}

// aliasImages reads the images whose ids are in the parameters of an alias. The parameter's name
// determines the variants of its image.
func (d *Discoverer) aliasImages(
	ctx context.Context, parameters map[string][]nodeclass.Variant, values map[string]string,
) ([]nodeclass.Image, error) {
	variants := map[string][]nodeclass.Variant{} // by image
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if id := values[name]; id != "" {
			variants[id] = append(variants[id], parameters[name]...)
		}
	}
	if len(variants) == 0 {
		return nil, nil
	}
	found, err := d.describe(
		ctx,
		&ec2.DescribeImagesInput{ImageIds: slices.Sorted(maps.Keys(variants)), IncludeDeprecated: aws.Bool(true)},
	)
	for i := range found {
		found[i].Variants = variants[found[i].ID]
	}
	return found, err
}

// termImages reads the images that match all fields of a term without an alias. The value is that
// of its SSM parameter.
func (d *Discoverer) termImages(
	ctx context.Context, term api.AMISelectorTerm, value string,
) ([]nodeclass.Image, error) {
	input := &ec2.DescribeImagesInput{
		Filters: tagFilters(term.Tags), IncludeDeprecated: aws.Bool(true), MaxResults: manyResults(),
	}
	for _, by := range []struct{ filter, value string }{{"image-id", term.ID}, {"image-id", value}, {"name", term.Name}} {
		if by.value != "" {
			input.Filters = append(input.Filters, types.Filter{Name: aws.String(by.filter), Values: []string{by.value}})
		}
	}
	switch {
	case term.Owner != "":
		input.Owners = []string{term.Owner}
	case term.ID == "" && !isPublic(term.SSMParameter):
		// Otherwise an image of anybody would match who has taken the name, or who may write the parameter.
		input.Owners = []string{"self", "amazon"}
	}
	found, err := d.describe(ctx, input)
	if err == nil && value != "" && len(found) == 0 {
		return nil, fmt.Errorf("the image %s in the SSM parameter %s of spec.amiSelectorTerms does not exist, or belongs to "+
			"neither this account nor Amazon: correct the parameter, or name the owner in the term", value, term.SSMParameter)
	}
	return found, err
}

// isPublic reports whether the name or the ARN is that of a parameter of AWS, which nobody else can write.
func isPublic(parameter string) bool {
	name := parameter
	if _, ofARN, isARN := strings.Cut(parameter, ":parameter"); isARN {
		name = ofARN
	}
	return strings.HasPrefix(name, "/aws/service/")
}

// parameterValues returns the values of SSM parameters by name. It omits missing parameters,
// because not every release has an image for every variant. It returns an error when none exists.
func (d *Discoverer) parameterValues(ctx context.Context, names []string) (map[string]string, error) {
	values := map[string]string{}
	var missing []string
	for batch := range slices.Chunk(names, parameterBatch) {
		output, err := d.SSM.GetParameters(ctx, &ssm.GetParametersInput{Names: batch})
		if code(err) == "AccessDeniedException" {
			return nil, fmt.Errorf("reading the SSM parameters of spec.amiSelectorTerms: %w: the functions may read public "+
				"parameters under /aws/service/ and those that the setting imageParameters of the stack names: "+
				"name this one there, or the image's id here", err)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the SSM parameters of spec.amiSelectorTerms: %w", err)
		}
		for _, parameter := range output.Parameters {
			// A term may name a parameter by name or ARN, each with or without a version.
			for _, name := range []string{aws.ToString(parameter.Name), aws.ToString(parameter.ARN)} {
				values[name+aws.ToString(parameter.Selector)] = aws.ToString(parameter.Value)
			}
		}
		missing = append(missing, output.InvalidParameters...)
	}
	if len(values) == 0 && len(missing) > 0 {
		return nil, fmt.Errorf("none of the SSM parameters of spec.amiSelectorTerms exists: %s", strings.Join(missing, ", "))
	}
	return values, nil
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
			made := nodeclass.Image{
				ID: aws.ToString(image.ImageId), Name: aws.ToString(image.Name),
				Architecture: architecture(image.Architecture),
			}
			if created, err := time.Parse(time.RFC3339, aws.ToString(image.CreationDate)); err == nil {
				made.Created = created
			}
			if deprecation, err := time.Parse(time.RFC3339, aws.ToString(image.DeprecationTime)); err == nil {
				made.Deprecated = deprecation.Before(d.Now)
			}
			found = append(found, made)
		}
	}
	return found, nil
}

// architecture returns Kubernetes' name of an architecture, or an empty text for one without nodes.
func architecture(value types.ArchitectureValues) string {
	switch value {
	case types.ArchitectureValuesX8664:
		return api.ArchitectureAmd64
	case types.ArchitectureValuesArm64:
		return api.ArchitectureArm64
	}
	return ""
}

// filters returns the EC2 filters of a selector term: its id, if any, and its tags.
func filters(tags map[string]string, idFilter, id string) []types.Filter {
	list := tagFilters(tags)
	if id != "" {
		list = append(list, types.Filter{Name: aws.String(idFilter), Values: []string{id}})
	}
	return list
}

// tagFilters returns the EC2 filters of tags. The value * matches any value.
func tagFilters(tags map[string]string) []types.Filter {
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

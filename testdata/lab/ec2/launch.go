package ec2

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// launch is one instance to launch, resolved from templates and overrides.
type launch struct {
	facts        *builtin.InstanceType
	capacityType string
	subnet       *subnet
	image        *Image
	data         launchTemplateData

	group      *placementGroup
	partition  int
	interfaces []launchInterface

	profileARN, profileID, roleARN string
	securityGroups                 []string
	instanceTags, volumeTags       map[string]string
	fleetID, templateID            string
	clientToken                    string
}

func (l *launch) pool() pool { return pool{l.facts.Name, l.subnet.zone.Name, l.capacityType} }

// price is US dollars an hour. A capacity block is paid in advance.
func (l *launch) price() float64 {
	switch l.capacityType {
	case Spot:
		return builtin.SpotPrice(l.facts.Name, l.subnet.zone.Name, l.facts.OnDemandPrice)
	case CapacityBlock:
		return 0
	}
	return l.facts.OnDemandPrice
}

// usageClass is DescribeInstanceTypes' term for a capacity type.
func usageClass(capacityType string) string {
	if capacityType == Interruptible {
		return OnDemand
	}
	return capacityType
}

// resolve checks the references of a launch and fills in their values. It is called with the lock
// held.
func (s *Service) resolve(l *launch) error {
	if l.data.ImageID == "" {
		return missing("ImageId")
	}
	if l.image = s.images[l.data.ImageID]; l.image == nil {
		return refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", l.data.ImageID)
	}
	if !slices.Contains(l.facts.Architectures, l.image.Architecture) {
		return refuse(codeInvalidParameterValue,
			"The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. "+
				"Specify an instance type and an AMI that have matching architectures, and try again.",
			strings.Join(l.facts.Architectures, ","), l.image.Architecture)
	}
	if !slices.Contains(l.facts.UsageClasses, usageClass(l.capacityType)) {
		return refuse("InvalidParameterValue", "The instance type %s cannot be had as %s", l.facts.Name, l.capacityType)
	}
	l.securityGroups = nil
	for _, name := range l.data.securityGroups() {
		group := s.vpc.group(name)
		if group == nil {
			return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", name)
		}
		if !slices.Contains(l.securityGroups, group.id) {
			l.securityGroups = append(l.securityGroups, group.id)
		}
	}
	if len(l.securityGroups) == 0 {
		l.securityGroups = []string{s.vpc.securityGroupID}
	}
	for _, check := range []func(*launch) error{checkMarket, checkDevices, checkHardware, s.resolveInterfaces,
		checkAttachments, s.resolveGroup, s.resolveProfile} {
		if err := check(l); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) resolveProfile(l *launch) error {
	ref := l.data.IamInstanceProfile
	if ref == nil || ref.Name == "" && ref.ARN == "" {
		return nil
	}
	name, parameter := ref.Name, "iamInstanceProfile.name"
	if name == "" {
		name, parameter = ref.ARN, "iamInstanceProfile.arn"
	}
	if s.config.InstanceProfiles != nil {
		role, found := s.config.InstanceProfiles.RoleOfInstanceProfile(name)
		if !found {
			return refuse(codeInvalidParameterValue, "Value (%s) for parameter %s is invalid. Invalid IAM Instance Profile name",
				name, parameter)
		}
		l.roleARN = role
	}
	l.profileARN = ref.ARN
	if l.profileARN == "" {
		l.profileARN = "arn:aws:iam::" + s.config.AccountID + ":instance-profile/" + name
	}
	l.profileID = strings.ToUpper(strings.Replace(derivedID("AIPA", l.profileARN), "-", "", 1))
	return nil
}

// start makes the instance of a launch that has its room and its address.
func (s *Service) start(l *launch, given *grant, reservationID string, index int) *instance {
	now := time.Now()
	delete(s.pending, given)
	address := given.addresses[0][0]
	tags := maps.Clone(l.instanceTags)
	if tags == nil {
		tags = map[string]string{}
	}
	i := &instance{
		Instance: Instance{
			ID: s.identity.next("i"), InstanceType: l.facts.Name, Facts: *l.facts, CapacityType: l.capacityType,
			PricePerHour: l.price(),
			Zone:         l.subnet.zone.Name, ZoneID: l.subnet.zone.ID, SubnetID: l.subnet.id,
			PrivateIPAddress: address.String(),
			PrivateDNSName:   privateDNSName(address, s.config.Region), Image: *l.image, ImageID: l.image.ID,
			Architecture: l.image.Architecture,
			Launched:     now, UserData: l.data.UserData, InstanceProfileARN: l.profileARN, RoleARN: l.roleARN, Tags: tags,
		},
		grant: given, profileID: l.profileID, fleetID: l.fleetID, templateID: l.templateID, reservationID: reservationID,
		launchIndex: index, clientToken: l.clientToken, securityGroups: l.securityGroups, interfaces: l.interfaces,
		data: l.data, visible: now.Add(s.timing.Visibility),
	}
	if given.reservation != nil {
		i.CapacityReservationID = given.reservation.ID
	}
	i.volumes = s.volumesFor(l, now)
	i.Volumes = map[string]int{}
	for _, v := range i.volumes {
		i.Volumes[v.device] = v.sizeGiB
	}
	s.instances[i.ID] = i
	s.begin(i)
	s.replicateTags(i)
	return i
}

// tagsFor merges the tags that specifications give to one kind of resource.
func tagsFor(kind string, lists ...[]tagSpecification) (map[string]string, error) {
	tags := map[string]string{}
	for _, specifications := range lists {
		for _, specification := range specifications {
			for _, tag := range specification.Tags {
				if err := checkTag(tag); err != nil {
					return nil, err
				}
				if specification.ResourceType == kind {
					tags[tag.Key] = tag.Value
				}
			}
		}
	}
	if len(tags) > 50 {
		return nil, refuse("TagLimitExceeded", "A resource can have at most 50 tags: the %s would have %d", kind, len(tags))
	}
	return tags, nil
}

// checkTag holds the limits of https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html.
func checkTag(tag tagXML) error {
	switch {
	case tag.Key == "":
		return refuse(codeInvalidParameterValue, "Tag key cannot be empty: a tag has the value %q and no key", tag.Value)
	case len([]rune(tag.Key)) > 128:
		return refuse(codeInvalidParameterValue, "Tag key exceeds the maximum length of 128 characters: %s", tag.Key)
	case len([]rune(tag.Value)) > 256:
		return refuse(codeInvalidParameterValue,
			"Tag value exceeds the maximum length of 256 characters: the tag's key is %s", tag.Key)
	case strings.HasPrefix(strings.ToLower(tag.Key), "aws:"):
		return refuse(codeInvalidParameterValue, "Tag keys starting with 'aws:' are reserved for internal use: %s", tag.Key)
	}
	return nil
}

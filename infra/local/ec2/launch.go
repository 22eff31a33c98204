package ec2

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/instancetypes"
)

// launch is what one instance is to be, resolved from templates and overrides.
type launch struct {
	facts        *instancetypes.InstanceType
	capacityType string
	subnet       *subnet
	image        *Image
	data         launchTemplateData

	profileARN, profileID, roleARN string
	securityGroups                 []string
	instanceTags, volumeTags       map[string]string
	fleetID, templateID            string
	clientToken                    string
}

func (l *launch) pool() pool { return pool{l.facts.Name, l.subnet.zone.Name, l.capacityType} }

func (l *launch) price() float64 {
	if l.capacityType == Spot {
		return instancetypes.SpotPrice(l.facts.Name, l.subnet.zone.Name, l.facts.OnDemandPrice)
	}
	return l.facts.OnDemandPrice
}

// resolve checks what a launch refers to and fills it in. It is called with the lock held.
func (s *Service) resolve(l *launch) error {
	if l.data.ImageID == "" {
		return missing("ImageId")
	}
	if l.image = s.images[l.data.ImageID]; l.image == nil {
		return refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", l.data.ImageID)
	}
	if !slices.Contains(l.facts.Architectures, l.image.Architecture) {
		return refuse(codeInvalidParameterValue, "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. "+
			"Specify an instance type and an AMI that have matching architectures, and try again.", strings.Join(l.facts.Architectures, ","), l.image.Architecture)
	}
	if !slices.Contains(l.facts.UsageClasses, l.capacityType) {
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
	if err := checkDevices(l); err != nil {
		return err
	}
	return s.resolveProfile(l)
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
			return refuse(codeInvalidParameterValue, "Value (%s) for parameter %s is invalid. Invalid IAM Instance Profile name", name, parameter)
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

// addressTaken is an address that a launch may use; release gives it back.
type addressTaken struct {
	subnet  *subnet
	address netip.Addr
}

// reserve takes room and an address for one launch, or gives the code and message of the refusal.
func (s *Service) reserve(l *launch) (addressTaken, string, string) {
	if code, message := s.capacity.refused(l.pool(), l.facts.VCPUs, time.Now()); code != "" {
		return addressTaken{}, code, message
	}
	address, ok := l.subnet.take()
	if !ok {
		return addressTaken{}, codeInsufficientFreeAddresses, "There are not enough free addresses in subnet '" + l.subnet.id + "' to satisfy the requested number of instances."
	}
	s.capacity.take(l.pool(), l.facts.VCPUs)
	return addressTaken{l.subnet, address}, "", ""
}

func (s *Service) unreserve(l *launch, taken addressTaken) {
	s.capacity.release(l.pool(), l.facts.VCPUs)
	taken.subnet.release(taken.address)
}

// start makes the instance of a launch that has its room and its address.
func (s *Service) start(l *launch, taken addressTaken, reservationID string, index int) *instance {
	now := time.Now()
	tags := maps.Clone(l.instanceTags)
	if tags == nil {
		tags = map[string]string{}
	}
	i := &instance{
		Instance: Instance{
			ID: s.identity.next("i"), InstanceType: l.facts.Name, Facts: *l.facts, CapacityType: l.capacityType, PricePerHour: l.price(),
			Zone: l.subnet.zone.Name, ZoneID: l.subnet.zone.ID, SubnetID: l.subnet.id, PrivateIPAddress: taken.address.String(),
			PrivateDNSName: privateDNSName(taken.address, s.config.Region), Image: *l.image, ImageID: l.image.ID, Architecture: l.image.Architecture,
			Launched: now, UserData: l.data.UserData, InstanceProfileARN: l.profileARN, RoleARN: l.roleARN, Tags: tags,
		},
		address: taken.address, subnet: taken.subnet, profileID: l.profileID, fleetID: l.fleetID, templateID: l.templateID, reservationID: reservationID,
		launchIndex: index, clientToken: l.clientToken, securityGroups: l.securityGroups, data: l.data, visible: now.Add(s.timing.Visibility),
	}
	i.volumes = s.volumesFor(l, now)
	i.Volumes = map[string]int{}
	for _, v := range i.volumes {
		i.Volumes[v.device] = v.sizeGiB
	}
	s.instances[i.ID] = i
	s.begin(i)
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
		return refuse(codeInvalidParameterValue, "Tag value exceeds the maximum length of 256 characters: the tag's key is %s", tag.Key)
	case strings.HasPrefix(strings.ToLower(tag.Key), "aws:"):
		return refuse(codeInvalidParameterValue, "Tag keys starting with 'aws:' are reserved for internal use: %s", tag.Key)
	}
	return nil
}

package api

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate returns every problem of an EC2 node class, each a *FieldError, joined. A class with
// problems gets the condition ValidationSucceeded=False, and no node is launched with it.
func (c *EC2NodeClass) Validate() error {
	f := &findings{kind: EC2NodeClassKind, name: c.Name}
	f.validateReadable(c.Unreadable)
	f.validateSubnetTerms("spec.subnetSelectorTerms", c.Spec.SubnetSelectorTerms)
	f.validateSecurityGroupTerms("spec.securityGroupSelectorTerms", c.Spec.SecurityGroupSelectorTerms)
	f.validateCapacityReservationTerms("spec.capacityReservationSelectorTerms", c.Spec.CapacityReservationSelectorTerms)
	f.validatePlacementGroup("spec.placementGroupSelector", c.Spec.PlacementGroupSelector)
	f.validateAMITerms("spec.amiSelectorTerms", c.Spec.AMISelectorTerms)
	f.validateAMIFamily(c)
	f.validateRole(c.Spec)
	f.validateTags("spec.tags", c.Spec.Tags)
	f.validateKubelet("spec.kubelet", c.Spec.Kubelet, c.AMIFamily())
	f.validateBlockDevices("spec.blockDeviceMappings", c.Spec.BlockDeviceMappings)
	f.validateNetworkInterfaces("spec.networkInterfaces", c.Spec.NetworkInterfaces)
	f.validateMetadataOptions("spec.metadataOptions", c.Spec.MetadataOptions)
	f.validateConnectionTracking("spec.connectionTracking", c.Spec.ConnectionTracking)
	if p := c.Spec.InstanceStorePolicy; p != nil && *p != InstanceStorePolicyRAID0 {
		f.add("spec.instanceStorePolicy", string(*p), "is not a policy: use RAID0, or none")
	}
	if n := c.Spec.IPPrefixCount; n != nil && *n < 0 {
		f.add("spec.ipPrefixCount", *n, "is negative: use zero or more")
	}
	if o := c.Spec.CPUOptions; o != nil {
		f.validateChoice("spec.cpuOptions.nestedVirtualization", o.NestedVirtualization, "enabled", "disabled")
	}
	return f.err()
}

func (f *findings) validateAMIFamily(c *EC2NodeClass) {
	alias, hasAlias := c.Alias()
	if c.Spec.AMIFamily == nil {
		if !slices.ContainsFunc(c.Spec.AMISelectorTerms, func(t AMISelectorTerm) bool { return t.Alias != "" }) {
			f.addField("spec.amiFamily",
				"is missing: without an alias in amiSelectorTerms, write one of %s", join(amiFamilies()))
		}
		return
	}
	family := *c.Spec.AMIFamily
	switch {
	case !slices.Contains(amiFamilies(), family):
		f.choose("spec.amiFamily", family, amiFamilies(), "is not a family: use one of %s", join(amiFamilies()))
	case hasAlias && family != alias.Family && family != AMIFamilyCustom:
		f.add(
			"spec.amiFamily", family, "is not the alias's family: remove it, or write %s or %s", alias.Family,
			AMIFamilyCustom,
		)
	}
}

func (f *findings) validateRole(spec EC2NodeClassSpec) {
	switch {
	case spec.InstanceProfile != nil && *spec.InstanceProfile == "":
		f.addField("spec.instanceProfile", "is empty: write the profile's name, or remove it and set role")
	case spec.Role != "" && spec.InstanceProfile != nil:
		f.add("spec.instanceProfile", *spec.InstanceProfile, "cannot be together with role %q: remove one of them", spec.Role)
	case spec.Role == "" && spec.InstanceProfile == nil:
		f.addField("spec.role", "is missing: write the name of the nodes' IAM role, or set instanceProfile")
	case spec.InstanceProfile != nil && strings.ContainsAny(*spec.InstanceProfile, "/:"):
		name := lastPart(*spec.InstanceProfile)
		f.add("spec.instanceProfile", *spec.InstanceProfile, "is not the name only: write %q, without ARN or path", name)
	case spec.Role != "" && spec.RoleName() == "":
		f.add("spec.role", spec.Role, "ends without a name: write the role's name, without ARN or path")
	}
}

// RoleName returns the name of the nodes' role. IAM takes no path with it and no ARN, but Karpenter takes
// both in spec.role.
func (s *EC2NodeClassSpec) RoleName() string { return lastPart(s.Role) }

// lastPart returns the name in a name, a path or an ARN of IAM.
func lastPart(text string) string { return text[strings.LastIndexAny(text, "/:")+1:] }

// EC2's limits of tags. The length counts characters. EC2 takes any printable character, though other
// services take fewer.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions
const (
	tagsOfResource, tagKeyLength, tagValueLength = 50, 128, 256
	// tagsOfLaunch is how many tags an instance gets from the launch and at its registration.
	tagsOfLaunch = 7
)

func (f *findings) validateTags(path string, tags map[string]string) {
	most := tagsOfResource - tagsOfLaunch
	if _, has := tags[NameTagKey]; has {
		most++
	}
	if len(tags) > most {
		f.addField(
			path, "has %d tags, and EC2 takes %d beside those of the launch: remove %d", len(tags), most, len(tags)-most,
		)
	}
	for _, key := range sortedKeys(tags) {
		at := fmt.Sprintf("%s[%s]", path, key)
		switch {
		case key == "":
			f.addField(path, "has an empty key: a tag needs a key")
		case IsReservedTag(key):
			f.add(at, tags[key], "cannot be chosen, the tag is set by the launch: remove it")
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			f.add(at, tags[key], "cannot be set, keys that begin with aws: are AWS's own: choose another key")
		case utf8.RuneCountInString(key) > tagKeyLength:
			f.addField(at, "has a key of %d characters, and EC2 takes %d: shorten it", utf8.RuneCountInString(key), tagKeyLength)
		case utf8.RuneCountInString(tags[key]) > tagValueLength:
			f.addField(
				at, "has a value of %d characters, and EC2 takes %d: shorten it", utf8.RuneCountInString(tags[key]), tagValueLength,
			)
		case strings.ContainsFunc(key+tags[key], unicode.IsControl):
			f.addField(path, "has a control character, such as a line break, in %q: %q: remove it", key, tags[key])
		}
	}
}

func (f *findings) validateMetadataOptions(path string, o *MetadataOptions) {
	if o == nil {
		return
	}
	f.validateChoice(path+".httpEndpoint", o.HTTPEndpoint, "enabled", "disabled")
	f.validateChoice(path+".httpProtocolIPv6", o.HTTPProtocolIPv6, "enabled", "disabled")
	f.validateChoice(path+".httpTokens", o.HTTPTokens, "required", "optional")
	f.validateRange(path+".httpPutResponseHopLimit", o.HTTPPutResponseHopLimit, 1, 64)
}

func (f *findings) validateConnectionTracking(path string, t *ConnectionTracking) {
	if t == nil {
		return
	}
	if t.TCPEstablishedTimeout == nil && t.UDPStreamTimeout == nil && t.UDPTimeout == nil {
		f.addField(path, "is empty: set tcpEstablishedTimeout, udpStreamTimeout or udpTimeout, or remove it")
	}
	f.validateRange(path+".tcpEstablishedTimeout", asInt64(t.TCPEstablishedTimeout), 60, 432000)
	f.validateRange(path+".udpStreamTimeout", asInt64(t.UDPStreamTimeout), 60, 180)
	f.validateRange(path+".udpTimeout", asInt64(t.UDPTimeout), 30, 60)
}

func (f *findings) validateNetworkInterfaces(path string, interfaces []NetworkInterface) {
	const most = 150
	if len(interfaces) == 0 {
		return
	}
	if len(interfaces) > most {
		f.addField(path, "has %d entries: remove all but %d", len(interfaces), most)
	}
	type place struct{ card, device int32 }
	places := map[place]int{}
	efaOnly := map[int32]int{}
	primary := false
	for i, n := range interfaces {
		at := fmt.Sprintf("%s[%d]", path, i)
		if n.NetworkCardIndex < 0 {
			f.add(at+".networkCardIndex", n.NetworkCardIndex, "is negative: cards are counted from zero")
		}
		if n.DeviceIndex < 0 {
			f.add(at+".deviceIndex", n.DeviceIndex, "is negative: devices are counted from zero")
		}
		if first, ok := places[place{n.NetworkCardIndex, n.DeviceIndex}]; ok {
			f.addField(at, "has the networkCardIndex %d and deviceIndex %d of %s[%d]: change one of them",
				n.NetworkCardIndex, n.DeviceIndex, path, first)
		} else {
			places[place{n.NetworkCardIndex, n.DeviceIndex}] = i
		}
		switch n.InterfaceType {
		case InterfaceTypeInterface:
			primary = primary || n.NetworkCardIndex == 0 && n.DeviceIndex == 0
		case InterfaceTypeEFAOnly:
			if first, ok := efaOnly[n.NetworkCardIndex]; ok {
				f.addField(at, "is the second interface of the type efa-only on network card %d, after %s[%d]: remove one of them",
					n.NetworkCardIndex, path, first)
			} else {
				efaOnly[n.NetworkCardIndex] = i
			}
		default:
			f.add(at+".interfaceType", string(n.InterfaceType), "is not a type: use interface or efa-only")
		}
	}
	if !primary {
		f.addField(path,
			"has no primary interface: add one with networkCardIndex 0, deviceIndex 0 and interfaceType interface")
	}
}

// validateChoice checks that a text, if set, is one of the choices.
func (f *findings) validateChoice(path string, value *string, choices ...string) {
	if value != nil && !slices.Contains(choices, *value) {
		f.choose(path, *value, choices, "is not possible: use %s", strings.Join(choices, " or "))
	}
}

// validateRange checks that a number, if set, is within bounds.
func (f *findings) validateRange(path string, value *int64, low, high int64) {
	if value != nil && (*value < low || *value > high) {
		f.add(path, *value, "is out of range: use a number from %d to %d", low, high)
	}
}

func asInt64(value *int32) *int64 {
	if value == nil {
		return nil
	}
	wide := int64(*value)
	return &wide
}

package legacy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// source is where the settings of a class come from: a template, or a Provisioner's inline
// provider.
type source struct {
	kind, name string
	meta       metav1.ObjectMeta
	// prefix is the path of the settings in the object.
	prefix string
	spec   *AWSNodeTemplateSpec
}

func templateSource(t *AWSNodeTemplate) source {
	return source{kind: AWSNodeTemplateKind, name: t.Name, meta: t.ObjectMeta, prefix: "spec", spec: &t.Spec}
}

// inlineSource reads the inline provider. Its changes name what cannot be read.
func inlineSource(p *Provisioner) (source, []Change) {
	c := &changes{kind: ProvisionerKind, name: p.Name}
	s := source{kind: ProvisionerKind, name: p.Name, meta: metav1.ObjectMeta{Name: p.Name}, prefix: "spec.provider"}
	decoder := json.NewDecoder(bytes.NewReader(p.Spec.Provider.Raw))
	decoder.DisallowUnknownFields()
	var spec AWSNodeTemplateSpec
	if err := decoder.Decode(&spec); err != nil {
		text := strings.TrimPrefix(err.Error(), "json: ")
		c.add(Blocking, s.prefix, "", "cannot be read, "+text, "correct it, or name an AWSNodeTemplate in providerRef")
		return s, c.list
	}
	s.spec = &spec
	return s, c.list
}

// classOf converts a template's settings, with a Provisioner's kubelet settings, to an EC2NodeClass.
// The provisioner is the one that the kubelet settings come from.
func classOf(
	s source, name, provisioner string, kubelet *KubeletConfiguration, settings Settings,
) (*api.EC2NodeClass, []Change) {
	c := &changes{kind: s.kind, name: s.name}
	meta := s.meta
	meta.Name = name
	class := &api.EC2NodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.AWSAPIVersion, Kind: api.EC2NodeClassKind},
		ObjectMeta: metadataOf(&meta),
	}
	old, spec := s.spec, &class.Spec
	spec.UserData, spec.DetailedMonitoring, spec.Context = old.UserData, old.DetailedMonitoring, old.Context
	if old.LaunchTemplateName != nil {
		c.add(Blocking, s.prefix+".launchTemplate", "", "nodes cannot be launched with a launch template of yours any more",
			"write its settings to the fields securityGroupSelector, instanceProfile, amiSelector, userData and "+
				"blockDeviceMappings, and remove launchTemplate",
		)
		return class, c.list
	}
	c.setImages(spec, s, settings)
	spec.SubnetSelectorTerms = c.subnetTerms(s, settings)
	spec.SecurityGroupSelectorTerms = c.securityGroupTerms(s, settings)
	c.setProfile(class, s, settings)
	c.setTags(spec, s)
	c.setMetadataOptions(spec, s)
	if disks := c.disks(old.BlockDeviceMappings, s.prefix); len(disks) > 0 {
		spec.BlockDeviceMappings = disks // in place of Ubuntu's
	}
	spec.Kubelet = c.kubeletOf(kubelet, kubeletField, class.AMIFamily())
	c.addInvalid(class.Validate(), renamed(
		"spec.subnetSelectorTerms", s.prefix+".subnetSelector",
		"spec.securityGroupSelectorTerms", s.prefix+".securityGroupSelector",
		"spec.amiSelectorTerms", s.prefix+".amiSelector",
		"spec.role", s.prefix+".instanceProfile",
		"spec.kubelet", kubeletField,
		"spec", s.prefix,
	))
	for i := range c.list {
		if strings.HasPrefix(c.list[i].Field, kubeletField) {
			c.list[i].Kind, c.list[i].Name = ProvisionerKind, provisioner
		}
	}
	return class, c.list
}

// kubeletField is where a Provisioner has the settings of the kubelet.
const kubeletField = "spec.kubeletConfiguration"

// ubuntuFamily is a family that no longer has images of its own.
const ubuntuFamily = "Ubuntu"

// setImages converts the family and the selected images.
func (c *changes) setImages(spec *api.EC2NodeClassSpec, s source, settings Settings) {
	family := api.AMIFamilyAL2
	if s.spec.AMIFamily != nil {
		family = *s.spec.AMIFamily
	}
	terms, problem := imageTerms(s.spec.AMISelector)
	if problem != "" {
		c.add(Blocking, s.prefix+".amiSelector", "", problem, tooManyRemedy)
		return
	}
	c.setFamily(spec, family, terms, s.prefix+".amiFamily", s.prefix+".amiSelector", settings)
}

// setFamily sets the images and what belongs to them.
func (c *changes) setFamily(
	spec *api.EC2NodeClassSpec, family string, terms []api.AMISelectorTerm, field, selector string, settings Settings,
) {
	spec.AMISelectorTerms = terms
	if len(terms) > 0 {
		if family == ubuntuFamily {
			c.setUbuntu(spec, field)
			return
		}
		spec.AMIFamily = &family
		if family == api.AMIFamilyCustom {
			c.add(Noted, field, "spec.amiFamily", "nodes have to register with the taint karpenter.sh/unregistered:NoExecute",
				"let the user data set it")
		}
		return
	}
	switch {
	case family == ubuntuFamily:
		c.add(Blocking, field, "", "no Ubuntu images are chosen by family any more",
			"select images of Canonical with "+selector+", or use another family")
	case family == api.AMIFamilyCustom:
		c.add(Blocking, field, "", "the family Custom needs "+selector, "select images with it")
	case family == api.AMIFamilyAL2 && !settings.hasAL2():
		spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: alias(api.AMIFamilyAL2023)}}
		c.add(Lost, field, "spec.amiSelectorTerms[0].alias",
			"AL2, the default, has no images beyond Kubernetes 1.32, so nodes have AL2023",
			"remove calls of /etc/eks/bootstrap.sh from user data, and migrate to an EC2NodeClass with al2023@latest",
		)
	case alias(family) == "":
		c.add(Blocking, field, "", fmt.Sprintf("%q is not a family", family),
			"use AL2, Bottlerocket, Windows2019, Windows2022 or Custom")
	default:
		spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: alias(family)}}
	}
}

// setUbuntu sets what Karpenter did for Ubuntu: the user data of AL2, and a root disk.
func (c *changes) setUbuntu(spec *api.EC2NodeClassSpec, field string) {
	family := api.AMIFamilyAL2
	spec.AMIFamily = &family
	c.add(Noted, field, "spec.amiFamily", "v1 has no family Ubuntu, and AL2 has the same form of user data", "")
	if spec.BlockDeviceMappings == nil {
		device, volume, size, encrypted := "/dev/sda1", "gp3", resource.MustParse("20Gi"), true
		spec.BlockDeviceMappings = []*api.BlockDeviceMapping{{
			DeviceName: &device,
			EBS:        &api.BlockDevice{VolumeSize: &size, VolumeType: &volume, Encrypted: &encrypted},
		}}
	}
}

// setProfile converts the instance profile. Without one, nodes get the role of the settings.
func (c *changes) setProfile(class *api.EC2NodeClass, s source, settings Settings) {
	spec, field := &class.Spec, s.prefix+".instanceProfile"
	role := settings.roleOf(class.AMIFamily())
	switch {
	case s.spec.InstanceProfile != nil:
		profile := *s.spec.InstanceProfile
		spec.InstanceProfile = &profile
	case settings.InstanceProfile != "":
		profile := settings.InstanceProfile
		spec.InstanceProfile = &profile
		c.add(Noted, field, "spec.instanceProfile", "it was Karpenter's setting aws.defaultInstanceProfile", "")
	case role == UnknownRole:
		spec.Role = role
		c.add(Noted, field, "spec.role", "it was Karpenter's setting aws.defaultInstanceProfile",
			"put the name of the nodes' role, an output of the stack, in place of "+UnknownRole)
	case role != "":
		spec.Role = role
		c.add(Noted, field, "spec.role", "it was Karpenter's setting aws.defaultInstanceProfile, and is the nodes' role", "")
	default:
		c.add(Blocking, field, "spec.instanceProfile", "is missing, and no default of Karpenter's settings is known",
			"write the name of the nodes' instance profile")
	}
}

// setTags copies the tags, except for those that the launch sets now.
func (c *changes) setTags(spec *api.EC2NodeClassSpec, s source) {
	for _, key := range slices.Sorted(maps.Keys(s.spec.Tags)) {
		if api.IsReservedTag(key) {
			c.add(Lost, s.prefix+".tags["+key+"]", "spec.tags", "the launch sets this tag, so yours is left out", "remove it")
			continue
		}
		setMetadata(&spec.Tags, key, s.spec.Tags[key])
	}
}

// setMetadataOptions writes out the defaults of the time. Those beside other options were EC2's.
func (c *changes) setMetadataOptions(spec *api.EC2NodeClassSpec, s source) {
	options := &api.MetadataOptions{}
	hops, tokens, field := int64(2), "required", s.prefix+".metadataOptions"
	if old := s.spec.MetadataOptions; old != nil {
		*options = api.MetadataOptions(*old)
		hops, tokens = 1, "optional"
	}
	if options.HTTPPutResponseHopLimit == nil && hops != api.DefaultHTTPPutResponseHopLimit {
		c.noteHops(field)
	}
	if options.HTTPTokens == nil && tokens != "required" {
		c.add(Noted, field+".httpTokens", "spec.metadataOptions.httpTokens",
			"metadataOptions without httpTokens left tokens optional, and v1 requires them by default", "")
	}
	setDefault(&options.HTTPEndpoint, "enabled")
	setDefault(&options.HTTPProtocolIPv6, "disabled")
	setDefault(&options.HTTPPutResponseHopLimit, hops)
	setDefault(&options.HTTPTokens, tokens)
	spec.MetadataOptions = options
}

// noteHops notes that the hop limit of 2 was a default.
func (c *changes) noteHops(field string) {
	c.add(Noted, field, "spec.metadataOptions.httpPutResponseHopLimit",
		"the default was 2, with which pods reach the metadata service, and is 1 in v1", "")
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// disks converts the disks. EC2 rounds sizes up to whole GiB, and v1 wants whole units.
func (c *changes) disks(old []*BlockDeviceMapping, prefix string) []*api.BlockDeviceMapping {
	var disks []*api.BlockDeviceMapping
	for i, mapping := range old {
		if mapping == nil {
			c.add(Lost, fmt.Sprintf("%s.blockDeviceMappings[%d]", prefix, i), "spec.blockDeviceMappings",
				"is null and left out", "remove it")
			continue
		}
		disk := &api.BlockDeviceMapping{DeviceName: mapping.DeviceName, RootVolume: mapping.RootVolume}
		if ebs := mapping.EBS; ebs != nil {
			disk.EBS = &api.BlockDevice{
				DeleteOnTermination: ebs.DeleteOnTermination, Encrypted: ebs.Encrypted, IOPS: ebs.IOPS,
				KMSKeyID: ebs.KMSKeyID, SnapshotID: ebs.SnapshotID, Throughput: ebs.Throughput,
				VolumeType: ebs.VolumeType, VolumeSize: wholeSize(ebs.VolumeSize),
			}
		}
		disks = append(disks, disk)
	}
	return disks
}

// wholeSize returns the size in a unit that v1 accepts, rounded up to GiB where it has another.
func wholeSize(size *resource.Quantity) *resource.Quantity {
	if size == nil {
		return nil
	}
	for _, unit := range []string{"Gi", "G", "Ti", "T"} {
		if strings.HasSuffix(size.String(), unit) {
			same := size.DeepCopy()
			return &same
		}
	}
	const gibibyte = 1 << 30
	bytes := size.Value()
	whole := bytes / gibibyte
	if bytes > 0 && bytes%gibibyte > 0 {
		whole++
	}
	// 1024 GiB would be written as 1Ti, and 1025 GiB as 1025Gi. Both are whole units.
	return resource.NewQuantity(whole*gibibyte, resource.BinarySI)
}

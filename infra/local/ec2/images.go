package ec2

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Image is an AMI that AWS publishes for EKS nodes.
type Image struct {
	ID, Name, Description string
	// Architecture is x86_64 or arm64, Variant standard or nvidia.
	Architecture, Variant string
	KubernetesVersion     string
	Created               time.Time
	Tags                  map[string]string
}

// amazonEKSAccount owns the EKS-optimized images in most regions.
const amazonEKSAccount = "602401143452"

// imageReleases are the releases that exist for every version of Kubernetes, oldest first.
func imageReleases() []time.Time {
	return []time.Time{
		time.Date(2026, time.August, 19, 0, 0, 0, 0, time.UTC),
		time.Date(2026, time.September, 23, 0, 0, 0, 0, time.UTC),
		time.Date(2026, time.October, 28, 0, 0, 0, 0, time.UTC),
	}
}

// imageKinds are the variants of AL2023 that are published for each architecture.
func imageKinds() map[string][]string {
	return map[string][]string{"x86_64": {"standard", "nvidia"}, "arm64": {"standard", "nvidia"}}
}

// RegisterCluster publishes the images for a cluster's version of Kubernetes, such as 1.36, and tags subnets and security group for the cluster.
func (s *Service) RegisterCluster(name, kubernetesVersion string) {
	for _, release := range imageReleases() {
		s.PublishImages(kubernetesVersion, release)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vpc.tagCluster(name)
}

// PublishImages releases AL2023 images of one day for a version of Kubernetes. They become the recommended ones, as after a release of AWS's.
func (s *Service) PublishImages(kubernetesVersion string, release time.Time) {
	for architecture, variants := range imageKinds() {
		for _, variant := range variants {
			s.publishImage(kubernetesVersion, architecture, variant, release)
		}
	}
}

func (s *Service) publishImage(version, architecture, variant string, release time.Time) {
	name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-v%s", architecture, variant, version, release.Format("20060102"))
	image := &Image{
		ID: derivedID("ami", name), Name: name, Architecture: architecture, Variant: variant, KubernetesVersion: version, Created: release,
		Description: fmt.Sprintf("EKS-optimized Kubernetes node based on Amazon Linux 2023, (k8s: %s)", version), Tags: map[string]string{},
	}
	s.mu.Lock()
	s.images[image.ID] = image
	s.mu.Unlock()
	if s.config.Parameters == nil {
		return
	}
	// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
	path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", version, architecture, variant)
	for _, which := range []string{"recommended", name} {
		s.config.Parameters.Set(path+which+"/image_id", image.ID, "String")
	}
}

type describeImagesRequest struct {
	ImageIDs          []string `query:"ImageId"`
	Owners            []string `query:"Owner"`
	ExecutableUsers   []string `query:"ExecutableBy"`
	IncludeDeprecated bool     `query:"IncludeDeprecated"`
	IncludeDisabled   bool     `query:"IncludeDisabled"`
	Filters           []filter `query:"Filter"`
	MaxResults        *int     `query:"MaxResults"`
	NextToken         string   `query:"NextToken"`
}

type imageXML struct {
	ImageID             string              `xml:"imageId"`
	ImageLocation       string              `xml:"imageLocation"`
	State               string              `xml:"imageState"`
	OwnerID             string              `xml:"imageOwnerId"`
	OwnerAlias          string              `xml:"imageOwnerAlias"`
	CreationDate        string              `xml:"creationDate"`
	DeprecationTime     string              `xml:"deprecationTime"`
	Public              bool                `xml:"isPublic"`
	Architecture        string              `xml:"architecture"`
	ImageType           string              `xml:"imageType"`
	Name                string              `xml:"name"`
	Description         string              `xml:"description"`
	PlatformDetails     string              `xml:"platformDetails"`
	UsageOperation      string              `xml:"usageOperation"`
	EnaSupport          bool                `xml:"enaSupport"`
	Hypervisor          string              `xml:"hypervisor"`
	RootDeviceName      string              `xml:"rootDeviceName"`
	RootDeviceType      string              `xml:"rootDeviceType"`
	VirtualizationType  string              `xml:"virtualizationType"`
	BootMode            string              `xml:"bootMode"`
	ImdsSupport         string              `xml:"imdsSupport"`
	BlockDeviceMappings set[blockDeviceXML] `xml:"blockDeviceMapping"`
	Tags                set[tagXML]         `xml:"tagSet"`
}

type blockDeviceXML struct {
	DeviceName string `xml:"deviceName"`
	Ebs        struct {
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
		VolumeSize          int    `xml:"volumeSize"`
		VolumeType          string `xml:"volumeType"`
		Encrypted           bool   `xml:"encrypted"`
	} `xml:"ebs"`
}

type describeImagesResult struct {
	Images    set[imageXML] `xml:"imagesSet"`
	NextToken string        `xml:"nextToken,omitempty"`
}

// rootDevice and rootVolumeGiB are those of AL2023.
const rootDevice, rootVolumeGiB = "/dev/xvda", 20

func (s *Service) describeImages(_ *wire.Call, in *describeImagesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.SortedFunc(maps.Values(s.images), func(a, b *Image) int { return strings.Compare(a.Name, b.Name) })
	images, err := pick(all, in.ImageIDs, func(i *Image) string { return i.ID }, "InvalidAMIID.NotFound", "image id")
	if err != nil {
		return nil, err
	}
	if len(in.Owners) > 0 && !slices.Contains(in.Owners, "amazon") && !slices.Contains(in.Owners, amazonEKSAccount) {
		images = nil
	}
	images, err = matching(images, in.Filters, fields[*Image]{
		"architecture":        func(i *Image) []string { return one(i.Architecture) },
		"creation-date":       func(i *Image) []string { return one(timestamp(i.Created)) },
		"description":         func(i *Image) []string { return one(i.Description) },
		"ena-support":         func(*Image) []string { return yesNo(true) },
		"hypervisor":          func(*Image) []string { return one("xen") },
		"image-id":            func(i *Image) []string { return one(i.ID) },
		"image-type":          func(*Image) []string { return one("machine") },
		"is-public":           func(*Image) []string { return yesNo(true) },
		"name":                func(i *Image) []string { return one(i.Name) },
		"owner-alias":         func(*Image) []string { return one("amazon") },
		"owner-id":            func(*Image) []string { return one(amazonEKSAccount) },
		"root-device-type":    func(*Image) []string { return one("ebs") },
		"state":               func(*Image) []string { return one("available") },
		"virtualization-type": func(*Image) []string { return one("hvm") },
	}, func(i *Image) map[string]string { return i.Tags })
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(images, in.MaxResults, in.NextToken, pageBounds{Least: 1, Most: 1000})
	if err != nil {
		return nil, err
	}
	out := &describeImagesResult{NextToken: next}
	for _, i := range page {
		out.Images.Items = append(out.Images.Items, describeImage(i))
	}
	return out, nil
}

func describeImage(i *Image) imageXML {
	x := imageXML{
		ImageID: i.ID, ImageLocation: "amazon/" + i.Name, State: "available", OwnerID: amazonEKSAccount, OwnerAlias: "amazon",
		CreationDate: timestamp(i.Created), DeprecationTime: timestamp(i.Created.AddDate(2, 0, 0)), Public: true, Architecture: i.Architecture,
		ImageType: "machine", Name: i.Name, Description: i.Description, PlatformDetails: "Linux/UNIX", UsageOperation: "RunInstances", EnaSupport: true,
		Hypervisor: "xen", RootDeviceName: rootDevice, RootDeviceType: "ebs", VirtualizationType: "hvm", BootMode: "uefi-preferred", ImdsSupport: "v2.0",
		Tags: tagSet(i.Tags),
	}
	root := blockDeviceXML{DeviceName: rootDevice}
	root.Ebs.DeleteOnTermination, root.Ebs.VolumeSize, root.Ebs.VolumeType = true, rootVolumeGiB, "gp3"
	x.BlockDeviceMappings.Items = append(x.BlockDeviceMappings.Items, root)
	return x
}

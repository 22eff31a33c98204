package ec2

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

func (s *Service) describeImages(_ *wire.Call, in *describeImagesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.SortedFunc(maps.Values(s.images), func(a, b *Image) int { return strings.Compare(a.Name, b.Name) })
	images, err := pick(all, in.ImageIDs, func(i *Image) string { return i.ID }, "InvalidAMIID.NotFound", "image id")
	if err != nil {
		return nil, err
	}
	now := time.Now()
	images = slices.DeleteFunc(slices.Clone(images), func(i *Image) bool {
		// Other accounts see deprecated images only by ID or with IncludeDeprecated.
		// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ami-deprecate.html
		deprecated := !i.Deprecated.IsZero() && now.After(i.Deprecated)
		return !s.ownedBy(i, in.Owners) || deprecated && len(in.ImageIDs) == 0 && !in.IncludeDeprecated &&
			i.OwnerID != s.config.AccountID
	})
	images, err = matching(images, in.Filters, imageFilters(), func(i *Image) map[string]string { return i.Tags })
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

// ownedBy reports whether one of the owners (account IDs, self or amazon) owns the image. Without
// owners every image matches.
func (s *Service) ownedBy(i *Image, owners []string) bool {
	return len(owners) == 0 || slices.ContainsFunc(owners, func(owner string) bool {
		return owner == i.OwnerID || owner == i.OwnerAlias && owner != "" || owner == "self" &&
			i.OwnerID == s.config.AccountID
	})
}

func imageFilters() fields[*Image] {
	return fields[*Image]{
		"architecture": func(i *Image) []string { return one(i.Architecture) },
		"description":  func(i *Image) []string { return one(i.Description) },
		"hypervisor":   func(*Image) []string { return one("xen") },
		"image-id":     func(i *Image) []string { return one(i.ID) },
		"name":         func(i *Image) []string { return one(i.Name) },
		"owner-id":     func(i *Image) []string { return one(i.OwnerID) },
		"platform":     func(i *Image) []string { return one(i.Platform) },
		"state":        func(*Image) []string { return one("available") },
	}
}

// platformDetails and usageOperation describe an image's billing.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
func platformDetails(i *Image) string {
	if i.Platform == "windows" {
		return "Windows"
	}
	return "Linux/UNIX"
}

func usageOperation(i *Image) string {
	if i.Platform == "windows" {
		return "RunInstances:0002"
	}
	return "RunInstances"
}

func describeImage(i *Image) imageXML {
	x := imageXML{
		ImageID: i.ID, ImageLocation: i.OwnerID + "/" + i.Name, State: "available", OwnerID: i.OwnerID,
		OwnerAlias:   i.OwnerAlias,
		CreationDate: timestamp(i.Created), Public: i.Public, Architecture: i.Architecture, ImageType: "machine",
		Name: i.Name, Description: i.Description,
		Platform: i.Platform, PlatformDetails: platformDetails(i), UsageOperation: usageOperation(i), EnaSupport: true,
		Hypervisor:     "xen",
		RootDeviceName: i.root().Name, RootDeviceType: "ebs", VirtualizationType: "hvm", Tags: tagSet(i.Tags),
	}
	if i.OwnerAlias != "" {
		x.ImageLocation = i.OwnerAlias + "/" + i.Name
	}
	if i.Platform == "" {
		x.BootMode, x.ImdsSupport = "uefi-preferred", "v2.0"
		if i.Family == FamilyAL2 {
			x.BootMode, x.ImdsSupport = "", ""
		}
	}
	if !i.Deprecated.IsZero() {
		x.DeprecationTime = timestamp(i.Deprecated)
	}
	for _, device := range i.Devices {
		mapping := blockDeviceXML{DeviceName: device.Name}
		mapping.Ebs.SnapshotID = derivedID("snap", i.ID+device.Name)
		mapping.Ebs.DeleteOnTermination, mapping.Ebs.VolumeSize, mapping.Ebs.VolumeType = true, device.SizeGiB, "gp3"
		x.BlockDeviceMappings.Items = append(x.BlockDeviceMappings.Items, mapping)
	}
	return x
}

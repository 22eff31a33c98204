package ec2

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Image is a machine image: one that AWS publishes for EKS nodes, or one of the account's own.
type Image struct {
	ID, Name, Description string
	// Family is the operating system, which determines the language of user data; empty if unknown.
	Family string
	// Architecture is x86_64 or arm64, Variant standard, nvidia, neuron, gpu, and core or full for
	// Windows.
	Architecture, Variant string
	KubernetesVersion     string
	// OwnerID is an account; OwnerAlias is amazon for AWS's.
	OwnerID, OwnerAlias string
	// Platform is windows, and empty for Linux.
	Platform string
	Public   bool
	Created  time.Time
	// Deprecated is when the image is, or was, deprecated; zero is never.
	Deprecated time.Time
	// Devices are the volumes of the image, the root volume first.
	Devices []ImageDevice
	Tags    map[string]string
}

// ImageDevice is one volume of an image.
type ImageDevice struct {
	Name    string
	SizeGiB int
}

// root is the device that the image boots from.
func (i *Image) root() ImageDevice { return i.Devices[0] }

// RegisterCluster publishes the images of all families for EKS's Kubernetes versions, up to the
// cluster's own, such as 1.36. It tags subnets and security group for the cluster.
func (s *Service) RegisterCluster(name, kubernetesVersion string) {
	for _, version := range minorsUpTo(kubernetesVersion) {
		for _, release := range imageReleases() {
			s.publish(version, release)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vpc.tagCluster(name)
}

// PublishImages releases images of all families of one day for a version of Kubernetes. They become
// the recommended ones, as after a release of AWS's.
func (s *Service) PublishImages(kubernetesVersion string, release time.Time) {
	s.publish(kubernetesVersion, imageRelease{day: release})
}

func (s *Service) publish(version string, release imageRelease) {
	all := imagesOf(version, release)
	s.mu.Lock()
	for _, p := range all {
		s.images[p.image.ID] = p.image
	}
	s.mu.Unlock()
	if s.config.Parameters == nil {
		return
	}
	for _, p := range all {
		for _, name := range p.parameters {
			s.config.Parameters.Set(name, p.image.ID)
		}
	}
	for name, value := range releaseVersions(version, release) {
		s.config.Parameters.Set(name, value)
	}
}

// RegisterImage adds an image of the account's own, or of the owner that it names, and gives its id.
// Name and architecture are needed; an image without devices boots from 20 GiB at /dev/xvda, as one of
// Amazon Linux does.
func (s *Service) RegisterImage(image Image) (string, error) {
	if image.Name == "" || !slices.Contains([]string{"x86_64", "arm64"}, image.Architecture) {
		return "", fmt.Errorf("image %q with the architecture %q: want a name, and x86_64 or arm64", image.Name,
			image.Architecture)
	}
	if image.Family != "" && !slices.Contains([]string{
		FamilyAL2, FamilyAL2023, FamilyBottlerocket, FamilyWindows2019, FamilyWindows2022, FamilyWindows2025,
	}, image.Family) {
		return "", fmt.Errorf("image %q is of the family %q: want one that an EC2NodeClass names, or none", image.Name,
			image.Family)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addImage(image)
}

// addImage adds an image of the account's own, whose name must be new there, or of the account that it
// names.
func (s *Service) addImage(image Image) (string, error) {
	for _, other := range s.images {
		if image.OwnerID == "" && other.Name == image.Name && other.OwnerID == s.config.AccountID {
			return "", fmt.Errorf("image %q exists already: it is %s", image.Name, other.ID)
		}
	}
	image.OwnerID = cmp.Or(image.OwnerID, s.config.AccountID)
	image.ID, image.OwnerAlias, image.Created = s.identity.next("ami"), "", time.Now()
	image.Tags = maps.Clone(image.Tags)
	if image.Tags == nil {
		image.Tags = map[string]string{}
	}
	if len(image.Devices) == 0 {
		image.Devices = []ImageDevice{{"/dev/xvda", 20}}
	}
	s.images[image.ID] = &image
	return image.ID, nil
}

// DeprecateImage makes an image deprecated from a moment on.
func (s *Service) DeprecateImage(id string, from time.Time) error {
	return s.changeImage(id, func(i *Image) { i.Deprecated = from })
}

// DeregisterImage removes an image. Its instances run on, and its parameters keep its ID.
func (s *Service) DeregisterImage(id string) error {
	return s.changeImage(id, func(i *Image) { delete(s.images, i.ID) })
}

func (s *Service) changeImage(id string, change func(*Image)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	image, ok := s.images[id]
	if !ok {
		return fmt.Errorf("image %q does not exist: DescribeImages lists those that do", id)
	}
	change(image)
	return nil
}

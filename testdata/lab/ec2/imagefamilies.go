package ec2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Families of images as EC2NodeClasses name them.
const (
	FamilyAL2          = "AL2"
	FamilyAL2023       = "AL2023"
	FamilyBottlerocket = "Bottlerocket"
	FamilyWindows2019  = "Windows2019"
	FamilyWindows2022  = "Windows2022"
	FamilyWindows2025  = "Windows2025"
)

// Accounts that own the images that AWS publishes; each answers to the owner amazon.
const (
	amazonEKSAccount          = "602401143452"
	amazonBottlerocketAccount = "092701018921"
	amazonWindowsAccount      = "801119661308"
)

// These are the Kubernetes minor versions with images. EKS's last Amazon Linux 2 is for 1.32, and
// its first Windows Server 2025 for 1.35.
// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html
const firstMinor, lastMinor, lastAL2Minor, firstWindows2025Minor = 30, 36, 32, 35

// imageRelease is one day on which AWS released images for all families.
type imageRelease struct {
	day time.Time
	// bottlerocket is the operating system's own version.
	bottlerocket string
	// deprecated is when AWS withdrew the release; zero leaves it two years, as usual.
	deprecated time.Time
}

// imageReleases are the releases that exist for every version of Kubernetes, oldest first. The
// oldest was withdrawn early, as a faulty one is.
func imageReleases() []imageRelease {
	day := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	return []imageRelease{
		{day(time.May, 13), "1.44.0", day(time.June, 3)},
		{day(time.August, 19), "1.47.0", time.Time{}},
		{day(time.September, 23), "1.48.0", time.Time{}},
		{day(time.October, 28), "1.49.0", time.Time{}},
	}
}

// bottlerocketVersion is the version of a release that names none. Minor versions come out about
// monthly.
func bottlerocketVersion(day time.Time) string {
	months := (day.Year()-2026)*12 + int(day.Month())
	return fmt.Sprintf("1.%d.0", 39+months)
}

// minorsUpTo returns the versions of Kubernetes for which images exist: those that EKS supports,
// and a cluster's own beyond them.
func minorsUpTo(version string) []string {
	last := max(lastMinor, minorOf(version))
	var versions []string
	for minor := firstMinor; minor <= last; minor++ {
		versions = append(versions, fmt.Sprintf("1.%d", minor))
	}
	if !slices.Contains(versions, version) {
		versions = append(versions, version)
	}
	return versions
}

// minorOf is 36 for 1.36, and 0 for other text.
func minorOf(version string) int {
	_, minor, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0
	}
	return n
}

// imagesOf makes all images of one release for a version of Kubernetes, with the parameters that
// publish them.
func imagesOf(version string, release imageRelease) []publication {
	var all []publication
	all = append(all, al2023Images(version, release)...)
	if minorOf(version) <= lastAL2Minor {
		all = append(all, al2Images(version, release)...)
	}
	all = append(all, bottlerocketImages(version, release)...)
	all = append(all, windowsImages(version, release)...)
	for n := range all {
		image := all[n].image
		image.ID = derivedID("ami", image.Name)
		image.KubernetesVersion, image.Created, image.Deprecated = version, release.day, release.deprecated
		if image.Deprecated.IsZero() {
			image.Deprecated = release.day.AddDate(2, 0, 0)
		}
		image.Public, image.OwnerAlias, image.Tags = true, "amazon", map[string]string{}
	}
	return all
}

// publication is an image with the SSM parameters that hold its id.
type publication struct {
	image      *Image
	parameters []string
}

// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
func al2023Images(version string, release imageRelease) []publication {
	var all []publication
	for _, kind := range []struct{ architecture, variant string }{
		{"x86_64", "standard"}, {"x86_64", "nvidia"}, {"x86_64", "neuron"}, {"arm64", "standard"}, {"arm64", "nvidia"},
	} {
		name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-v%s", kind.architecture, kind.variant, version,
			release.day.Format("20060102"))
		path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", version, kind.architecture,
			kind.variant)
		all = append(all, publication{&Image{
			Name: name, Family: FamilyAL2023, Architecture: kind.architecture, Variant: kind.variant, OwnerID: amazonEKSAccount,
			Description: fmt.Sprintf("EKS-optimized Kubernetes node based on Amazon Linux 2023, (k8s: %s)", version),
			Devices:     []ImageDevice{{"/dev/xvda", 20}},
		}, []string{path + "recommended/image_id", path + name + "/image_id"}})
	}
	return all
}

// releaseVersions are the SSM parameters that name the version of the recommended images of AL2023.
func releaseVersions(version string, release imageRelease) map[string]string {
	all := map[string]string{}
	for _, kind := range []string{"x86_64/standard", "arm64/standard"} {
		name := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/recommended/release_version", version,
			kind)
		all[name] = version + ".0-" + release.day.Format("20060102")
	}
	return all
}

func al2Images(version string, release imageRelease) []publication {
	var all []publication
	for _, kind := range []struct{ name, path, architecture, variant string }{
		{"amazon-eks-node", "amazon-linux-2", "x86_64", "standard"},
		{"amazon-eks-arm64-node", "amazon-linux-2-arm64", "arm64", "standard"},
		{"amazon-eks-gpu-node", "amazon-linux-2-gpu", "x86_64", "gpu"},
	} {
		name := fmt.Sprintf("%s-%s-v%s", kind.name, version, release.day.Format("20060102"))
		path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/%s/", version, kind.path)
		all = append(all, publication{&Image{
			Name: name, Family: FamilyAL2, Architecture: kind.architecture, Variant: kind.variant, OwnerID: amazonEKSAccount,
			Description: fmt.Sprintf("EKS Kubernetes Worker AMI with AmazonLinux2 image, (k8s: %s)", version),
			Devices:     []ImageDevice{{"/dev/xvda", 20}},
		}, []string{path + "recommended/image_id", path + name + "/image_id"}})
	}
	return all
}

// https://bottlerocket.dev/en/os/1.49.x/install/kubernetes/: the latest of each minor version and
// the version itself are parameters.
func bottlerocketImages(version string, release imageRelease) []publication {
	number := release.bottlerocket
	if number == "" {
		number = bottlerocketVersion(release.day)
	}
	var all []publication
	for _, architecture := range []string{"x86_64", "arm64"} {
		for _, kind := range []struct{ suffix, variant string }{{"", "standard"}, {"-nvidia", "nvidia"}} {
			variant := "aws-k8s-" + version + kind.suffix
			commit := strings.TrimPrefix(derivedID("commit", variant+number), "commit-0")[:8]
			path := fmt.Sprintf("/aws/service/bottlerocket/%s/%s/", variant, architecture)
			all = append(all, publication{&Image{
				Name: fmt.Sprintf("bottlerocket-%s-%s-v%s-%s", variant, architecture, number, commit), Family: FamilyBottlerocket,
				Architecture: architecture,
				Variant:      kind.variant, OwnerID: amazonBottlerocketAccount,
				Description: "bottlerocket-" + variant + "-" + architecture + "-v" + number + "-" + commit,
				Devices:     []ImageDevice{{"/dev/xvda", 4}, {"/dev/xvdb", 20}},
			}, []string{path + "latest/image_id", path + number + "/image_id", path + number + "-" + commit + "/image_id"}})
		}
	}
	return all
}

// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-windows-ami-id.html
func windowsImages(version string, release imageRelease) []publication {
	var all []publication
	for _, kind := range []struct{ year, family string }{
		{"2019", FamilyWindows2019}, {"2022", FamilyWindows2022}, {"2025", FamilyWindows2025},
	} {
		if kind.family == FamilyWindows2025 && minorOf(version) < firstWindows2025Minor {
			continue
		}
		for _, edition := range []string{"Core", "Full"} {
			name := fmt.Sprintf("Windows_Server-%s-English-%s-EKS_Optimized-%s", kind.year, edition, version)
			all = append(all, publication{&Image{
				Name: name + "-" + release.day.Format("2006.01.02"), Family: kind.family, Architecture: "x86_64",
				Variant: strings.ToLower(edition), OwnerID: amazonWindowsAccount,
				Description: fmt.Sprintf("Microsoft Windows Server %s %s EKS optimized, (k8s: %s)", kind.year, edition, version),
				Platform:    "windows",
				Devices:     []ImageDevice{{"/dev/sda1", 50}},
			}, []string{"/aws/service/ami-windows-latest/" + name + "/image_id"}})
		}
	}
	return all
}

package ec2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (a *account) describeImage(t *testing.T, id string) types.Image {
	t.Helper()
	out, err := a.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{id}})
	if err != nil || len(out.Images) != 1 {
		t.Fatalf("image %q: %+v, %v", id, out, err)
	}
	return out.Images[0]
}

func TestImagesOfAllFamiliesArePublished(t *testing.T) {
	a := newAccount(t)
	for parameter, want := range map[string]struct {
		name, architecture, owner, root string
		devices                         int
	}{
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id": {
			"amazon-eks-node-al2023-x86_64-nvidia-1.36-v20261028", "x86_64", "602401143452", "/dev/xvda", 1,
		},
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/neuron/recommended/image_id": {
			"amazon-eks-node-al2023-x86_64-neuron-1.36-v20261028", "x86_64", "602401143452", "/dev/xvda", 1,
		},
		"/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/arm64/standard/" +
			"amazon-eks-node-al2023-arm64-standard-1.31-v20260923/image_id": {
			"amazon-eks-node-al2023-arm64-standard-1.31-v20260923", "arm64", "602401143452", "/dev/xvda", 1},
		"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id": {
			"amazon-eks-node-1.32-v20261028", "x86_64", "602401143452", "/dev/xvda", 1,
		},
		"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20260819/image_id": {
			"amazon-eks-arm64-node-1.32-v20260819", "arm64", "602401143452", "/dev/xvda", 1,
		},
		"/aws/service/eks/optimized-ami/1.30/amazon-linux-2-gpu/recommended/image_id": {
			"amazon-eks-gpu-node-1.30-v20261028", "x86_64", "602401143452", "/dev/xvda", 1,
		},
		"/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id": {
			"bottlerocket-aws-k8s-1.36-arm64-v1.49.0-*", "arm64", "092701018921", "/dev/xvda", 2,
		},
		"/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/1.47.0/image_id": {
			"bottlerocket-aws-k8s-1.36-nvidia-x86_64-v1.47.0-*", "x86_64", "092701018921", "/dev/xvda", 2,
		},
		"/aws/service/ami-windows-latest/Windows_Server-2019-English-Core-EKS_Optimized-1.36/image_id": {
			"Windows_Server-2019-English-Core-EKS_Optimized-1.36-2026.10.28", "x86_64", "801119661308", "/dev/sda1", 1,
		},
		"/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-EKS_Optimized-1.30/image_id": {
			"Windows_Server-2022-English-Full-EKS_Optimized-1.30-2026.10.28", "x86_64", "801119661308", "/dev/sda1", 1,
		},
		"/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.35/image_id": {
			"Windows_Server-2025-English-Core-EKS_Optimized-1.35-2026.10.28", "x86_64", "801119661308", "/dev/sda1", 1,
		},
	} {
		t.Run(parameter, func(t *testing.T) {
			image := a.describeImage(t, a.heard.parameter(parameter))
			name := text(image.Name)
			if prefix, isPattern := strings.CutSuffix(want.name, "*"); isPattern {
				if !strings.HasPrefix(name, prefix) {
					t.Errorf("name is %s, want %s", name, want.name)
				}
			} else if name != want.name {
				t.Errorf("name is %s, want %s", name, want.name)
			}
			if string(image.Architecture) != want.architecture || text(image.OwnerId) != want.owner ||
				text(image.RootDeviceName) != want.root || len(image.BlockDeviceMappings) != want.devices {
				t.Errorf("got %+v", image)
			}
			if windows := strings.HasPrefix(name, "Windows"); windows != strings.EqualFold(string(image.Platform), "windows") {
				t.Errorf("platform of %s is %q", name, image.Platform)
			}
		})
	}
	for _, parameter := range []string{
		"/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id",
		"/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.34/image_id",
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/neuron/recommended/image_id",
	} {
		if id := a.heard.parameter(parameter); id != "" {
			t.Errorf("%s is %s, and AWS has none", parameter, id)
		}
	}
}

func TestDeprecatedImagesAreSeenOnlyWhenAskedFor(t *testing.T) {
	a := newAccount(t)
	by := []types.Filter{{Name: aws.String("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-1.36-*"}}}
	names := func(in *awsec2.DescribeImagesInput) (names []string) {
		out, err := a.DescribeImages(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range out.Images {
			names = append(names, strings.TrimPrefix(text(image.Name), "amazon-eks-node-al2023-x86_64-standard-1.36-"))
		}
		return names
	}
	all := names(&awsec2.DescribeImagesInput{Filters: by, IncludeDeprecated: aws.Bool(true)})
	fresh := names(&awsec2.DescribeImagesInput{Filters: by})
	if !slices.Equal(all, []string{"v20260513", "v20260819", "v20260923", "v20261028"}) ||
		slices.Contains(fresh, "v20260513") {
		t.Errorf("all are %q, those not deprecated %q", all, fresh)
	}
	old := a.heard.parameter(
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/" +
			"amazon-eks-node-al2023-x86_64-standard-1.36-v20260513/image_id")
	if image := a.describeImage(t, old); text(image.DeprecationTime) != "2026-06-03T00:00:00.000Z" {
		t.Errorf("a deprecated image named by its id is %+v", image)
	}
}

func TestTheAccountsOwnImages(t *testing.T) {
	a := newAccount(t)
	id, err := a.service.RegisterImage(ec2.Image{
		Name: "golden", Family: ec2.FamilyAL2023, Architecture: "arm64", Tags: map[string]string{"team": "blue"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.DescribeImages(t.Context(),
		&awsec2.DescribeImagesInput{
			Owners: []string{"self"}, Filters: []types.Filter{{Name: aws.String("tag:team"), Values: []string{"blue"}}},
		})
	if err != nil || len(out.Images) != 1 || text(out.Images[0].ImageId) != id ||
		text(out.Images[0].OwnerId) != "123456789012" {
		t.Errorf("own images: %+v, %v", out, err)
	}
	out, err = a.DescribeImages(t.Context(),
		&awsec2.DescribeImagesInput{
			Owners: []string{"amazon"}, Filters: []types.Filter{{Name: aws.String("name"), Values: []string{"golden"}}},
		})
	if err != nil || len(out.Images) != 0 {
		t.Errorf("amazon's images have %+v, %v", out, err)
	}
	if err := a.service.DeprecateImage(id, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if image := a.describeImage(t, id); image.DeprecationTime == nil {
		t.Error("the deprecated image has no time of its deprecation")
	}
	if err := a.service.DeregisterImage(id); err != nil {
		t.Fatal(err)
	}
	_, err = a.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{id}})
	wantCode(t, err, "InvalidAMIID.NotFound")
	for _, bad := range []ec2.Image{
		{Name: "x", Architecture: "i386"}, {Architecture: "arm64"}, {Name: "y", Architecture: "arm64", Family: "Debian"},
	} {
		if _, err := a.service.RegisterImage(bad); err == nil {
			t.Errorf("%+v was registered", bad)
		}
	}
}

func TestBlockDevicesAreTheImagesAndTheTemplates(t *testing.T) {
	a := newAccount(t)
	run := func(image string, devices ...types.BlockDeviceMapping) (map[string]int, error) {
		out, err := a.RunInstances(t.Context(), &awsec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: &image, InstanceType: "m5.large",
			BlockDeviceMappings: devices,
		})
		if err != nil {
			return nil, err
		}
		for _, i := range a.service.Instances() {
			if i.ID == text(out.Instances[0].InstanceId) {
				return i.Volumes, nil
			}
		}
		t.Fatal("the instance is not there")
		return nil, nil
	}
	bottlerocket := a.heard.parameter("/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id")
	volumes, err := run(bottlerocket,
		types.BlockDeviceMapping{DeviceName: aws.String("/dev/xvdb"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(50)}})
	if err != nil || volumes["/dev/xvda"] != 4 || volumes["/dev/xvdb"] != 50 || len(volumes) != 2 {
		t.Errorf("volumes are %v, %v", volumes, err)
	}
	_, err = run(a.image("x86_64"),
		types.BlockDeviceMapping{DeviceName: aws.String("/dev/xvda"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(10)}})
	wantCode(t, err, "InvalidBlockDeviceMapping")
	_, err = run(a.image("x86_64"),
		types.BlockDeviceMapping{DeviceName: aws.String("/dev/xvdz"), Ebs: &types.EbsBlockDevice{Encrypted: aws.Bool(true)}})
	wantCode(t, err, "MissingParameter")
	var many []types.BlockDeviceMapping
	for i := range 27 { // beside the image's one
		many = append(many, types.BlockDeviceMapping{
			DeviceName: aws.String(fmt.Sprintf("/dev/sd%d", i)), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(1)},
		})
	}
	if volumes, err = run(a.image("x86_64"), many[1:]...); err != nil || len(volumes) != 27 {
		t.Errorf("%d volumes, %v", len(volumes), err)
	}
	_, err = run(a.image("x86_64"), many...)
	wantCode(t, err, "AttachmentLimitExceeded")
}

// An m5.large takes 27 volumes and interfaces beside the first: its own volume and a second interface
// leave 25.
func TestAnInstanceTakesSoManyVolumes(t *testing.T) {
	a := newAccount(t)
	id := a.run(t, "")
	if err := a.service.AttachVolume(id, 24); err != nil {
		t.Errorf("the 25th volume: %v", err)
	}
	if err := a.service.AttachVolume(id, 25); err == nil || !strings.Contains(err.Error(), "AttachmentLimitExceeded") {
		t.Errorf("the 26th volume: %v", err)
	}
}

package nodeclass

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func alias(text string) *api.EC2NodeClass {
	return class("", func(c *api.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = text })
}

func TestParametersOfAnAlias(t *testing.T) {
	for _, test := range []struct {
		alias, kubernetes string
		want              []string // the variants, then the parameter
	}{
		{"al2023@latest", "1.36", []string{
			"neuron /aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/neuron/recommended/image_id",
			"nvidia /aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/nvidia/recommended/image_id",
			"nvidia /aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
			"standard /aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id",
			"standard /aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id",
		}},
		{"al2023@v20260101", "1.35", []string{
			"neuron /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.35-v20260101/image_id",
			"nvidia /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/nvidia/amazon-eks-node-al2023-arm64-nvidia-1.35-v20260101/image_id",
			"nvidia /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260101/image_id",
			"standard /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20260101/image_id",
			"standard /aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.35-v20260101/image_id",
		}},
		{"al2@latest", "1.32", []string{
			"nvidia,neuron /aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id",
			"standard /aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended/image_id",
			"standard /aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id",
		}},
		{"al2@v20240807", "1.30", []string{
			"nvidia,neuron /aws/service/eks/optimized-ami/1.30/amazon-linux-2-gpu/amazon-eks-gpu-node-1.30-v20240807/image_id",
			"standard /aws/service/eks/optimized-ami/1.30/amazon-linux-2-arm64/amazon-eks-arm64-node-1.30-v20240807/image_id",
			"standard /aws/service/eks/optimized-ami/1.30/amazon-linux-2/amazon-eks-node-1.30-v20240807/image_id",
		}},
		{"bottlerocket@v1.44.0", "1.36", []string{
			"nvidia /aws/service/bottlerocket/aws-k8s-1.36-nvidia/arm64/1.44.0/image_id",
			"nvidia /aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/1.44.0/image_id",
			"standard /aws/service/bottlerocket/aws-k8s-1.36/arm64/1.44.0/image_id",
			"standard /aws/service/bottlerocket/aws-k8s-1.36/x86_64/1.44.0/image_id",
		}},
		{"bottlerocket@latest", "1.36", []string{
			"nvidia /aws/service/bottlerocket/aws-k8s-1.36-nvidia/arm64/latest/image_id",
			"nvidia /aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/latest/image_id",
			"standard /aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id",
			"standard /aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id",
		}},
		{
			"windows2019@latest", "1.36",
			[]string{"windows2019 /aws/service/ami-windows-latest/Windows_Server-2019-English-Core-EKS_Optimized-1.36/image_id"},
		},
		{
			"windows2022@latest", "1.36",
			[]string{"windows2022 /aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.36/image_id"},
		},
		{
			"windows2025@latest", "1.35",
			[]string{"windows2025 /aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.35/image_id"},
		},
	} {
		t.Run(test.alias, func(t *testing.T) {
			parameters, err := Parameters(alias(test.alias), test.kubernetes)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for name, variants := range parameters {
				var words []string
				for _, variant := range variants {
					words = append(words, string(variant))
				}
				got = append(got, strings.Join(words, ",")+" "+name)
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("parameters are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
	if parameters, err := Parameters(class("", family("AL2023")), "1.36"); err != nil || len(parameters) != 0 {
		t.Errorf("without an alias: %v, %v", slices.Collect(maps.Keys(parameters)), err)
	}
}

func TestAliasesWithoutImages(t *testing.T) {
	for _, test := range []struct {
		alias, kubernetes string
		supported         bool
	}{
		{"al2@latest", "1.32", true}, {"al2@latest", "1.33", false}, {"al2@latest", "1.36", false},
		{"al2@latest", "2.0", false},
		{"windows2025@latest", "1.34", false}, {"windows2025@latest", "1.35", true}, {"windows2025@latest", "1.36", true},
		{"windows2022@latest", "1.30", true}, {"al2023@latest", "1.33", true},
	} {
		if _, err := Parameters(alias(test.alias), test.kubernetes); (err == nil) != test.supported {
			t.Errorf("%s on %s: %v", test.alias, test.kubernetes, err)
		} else if err != nil &&
			(!strings.Contains(err.Error(), test.alias) || !strings.Contains(err.Error(), test.kubernetes)) {
			t.Errorf("%s on %s: %v", test.alias, test.kubernetes, err)
		}
	}
}

func TestImagesSayOnWhatTheyRun(t *testing.T) {
	young := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	facts := found()
	facts.Images = []Image{
		{ID: "ami-own", Architecture: "amd64", Created: young.AddDate(1, 0, 0)},
		{ID: "ami-gpu", Architecture: "amd64", Variants: []Variant{VariantNVIDIA, VariantNeuron}, Created: young},
		{ID: "ami-standard", Architecture: "amd64", Variants: []Variant{VariantStandard}, Created: young},
		{
			ID: "ami-standard-old", Architecture: "amd64", Variants: []Variant{VariantStandard},
			Created: young.AddDate(-1, 0, 0),
		},
		{ID: "ami-windows", Architecture: "amd64", Variants: []Variant{VariantWindows2022}, Created: young},
	}
	var got []string
	for _, image := range Resolve(class("", complete), facts, time.Now()).AMIs {
		var words []string
		for _, r := range image.Requirements {
			_, name, _ := strings.Cut(r.Key, "/")
			words = append(words, name+" "+string(r.Operator)+" "+strings.Join(r.Values, ","))
		}
		got = append(got, image.ID+": "+strings.Join(words, "; "))
	}
	want := []string{
		"ami-gpu: arch In amd64; instance-accelerator-count Exists ",
		"ami-gpu: arch In amd64; instance-gpu-count Exists ",
		"ami-standard: arch In amd64; instance-gpu-count DoesNotExist ; instance-accelerator-count DoesNotExist ",
		"ami-windows: arch In amd64; os In windows; windows-build In 10.0.20348",
		"ami-own: arch In amd64",
	}
	if !slices.Equal(got, want) {
		t.Errorf("images are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if corev1.LabelWindowsBuild != "node.kubernetes.io/windows-build" {
		t.Error("the label has another name")
	}
}

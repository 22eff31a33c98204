// Package starter writes a first NodePool and its EC2NodeClass for a cluster, as manifests with comments.
//
// Its place: package account reads the facts from AWS, and the command prints what this package makes.
package starter

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Facts are what the objects name.
type Facts struct {
	// Cluster is the name of the EKS cluster, and Pool that of the objects.
	Cluster, Pool string
	// Role is the name of the nodes' IAM role.
	Role string
	// Tagged says that subnets and security groups have the tag karpenter.sh/discovery with the cluster's
	// name. Subnets and Groups are ids that stand in its place.
	Tagged          bool
	Subnets, Groups []string
	// Zones are those of the subnets.
	Zones []string
	// Image is a term of the class: al2023@v20261120 for a version. Empty is the newest, whatever it is.
	Image string
	// ImageParameter is the SSM parameter that names the newest version.
	ImageParameter string
}

var poolForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Check returns an error for what is missing or not a name. It says what to do.
func (f *Facts) Check() error {
	switch {
	case !poolForm.MatchString(f.Pool):
		return fmt.Errorf("the name %q is none of a NodePool: write lower-case letters, digits and -", f.Pool)
	case f.Role == "":
		return errors.New("nothing names the role of the nodes: deploy the stack first, or pass -node-role NAME")
	case !f.Tagged && len(f.Subnets) == 0:
		return fmt.Errorf("no subnet has the tag karpenter.sh/discovery=%s, and EKS names none of the cluster: tag the "+
			"subnets and security groups of the nodes", f.Cluster)
	case len(f.Zones) == 0:
		return errors.New("the subnets have no zone: tag others with karpenter.sh/discovery")
	}
	return nil
}

// Manifest returns the objects as YAML. Facts that Check refuses give no valid objects.
func (f *Facts) Manifest() string {
	var text strings.Builder
	zones := slices.Clone(f.Zones)
	slices.Sort(zones)
	fmt.Fprintf(&text, pool, f.Cluster, f.Pool, f.Pool, strings.Join(slices.Compact(zones), ", "))
	image, why := "al2023@latest", "This is the newest image, so that each release of AWS replaces all nodes within the "+
		"pool's budgets."
	if f.Image != "" {
		image, why = f.Image, "Nodes keep this image until you name another one."
	}
	fmt.Fprintf(&text, class, f.Pool, f.Role, why, f.ImageParameter, image)
	text.WriteString("  subnetSelectorTerms:\n")
	f.terms(&text, f.Subnets)
	text.WriteString("  securityGroupSelectorTerms:\n")
	f.terms(&text, f.Groups)
	return text.String()
}

func (f *Facts) terms(text *strings.Builder, ids []string) {
	if f.Tagged {
		fmt.Fprintf(text, "    - tags:\n        karpenter.sh/discovery: %s\n", f.Cluster)
		return
	}
	for _, id := range ids {
		fmt.Fprintf(text, "    - id: %s\n", id)
	}
}

const pool = `# A first NodePool and its EC2NodeClass for the cluster %s.
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: %s
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: %s
      requirements:
        - key: topology.kubernetes.io/zone
          operator: In
          values: [%s]
        - key: kubernetes.io/arch
          operator: In
          values: [amd64, arm64]
        - key: karpenter.sh/capacity-type
          operator: In
          values: [spot, on-demand]
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: [c, m, r]
        - key: karpenter.k8s.aws/instance-generation
          operator: Gt
          values: ["4"]
      expireAfter: 720h
  # The most that all nodes of this pool may have together.
  limits:
    cpu: 100
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 1m
    # At most a tenth of the nodes is replaced or removed at a time.
    budgets:
      - nodes: 10%%
---
`

const class = `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: %s
spec:
  role: %s
  # %s
  # This names the newest version, as RELEASE-YYYYMMDD, which is written as al2023@vYYYYMMDD:
  #   aws ssm get-parameter --query Parameter.Value --output text --name %s
  amiSelectorTerms:
    - alias: %s
`

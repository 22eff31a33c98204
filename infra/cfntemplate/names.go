package cfntemplate

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The names of the reserved cluster. No other text of a template contains them.
const (
	ReservedCluster    = "ZZwhittleZZclusterZZ"
	reservedPrefix     = "ZZwhittleZZprefixZZ"
	reservedRolePrefix = "ZZwhittleZZroleZZ"
)

// MaximumCluster is EKS's limit, in characters.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
const MaximumCluster = 100

// maximumPrefix leaves room for the longest function's name, -interrupt, within Lambda's 64
// characters.
const maximumPrefix = 64 - len("-interrupt")

// maximumRolePrefix leaves room for the longest role name, -node-windows, and the longest region in
// IAM's 64 characters.
const maximumRolePrefix = 64 - len("-node-windows") - len("-ap-southeast-2")

// Names are the names that follow from a cluster's.
type Names struct {
	// Stack is the name of the CloudFormation stack.
	Stack string
	// Prefix is the beginning of each physical name. RolePrefix is that of named roles.
	Prefix, RolePrefix string
}

// NamesOf returns the names for a cluster.
func NamesOf(cluster string) Names {
	names := Names{Stack: stackName(cluster), Prefix: reservedPrefix, RolePrefix: reservedRolePrefix}
	if cluster != ReservedCluster {
		names.Prefix = cut("whittle-"+cluster, cluster, maximumPrefix)
		names.RolePrefix = cut("whittle-"+cluster, cluster, maximumRolePrefix)
	}
	return names
}

// stackName is the name of a cluster's CloudFormation stack. EKS allows underscores and CloudFormation
// does not: a hash keeps such a name apart from one with hyphens.
func stackName(cluster string) string {
	name := "Whittle-" + cluster
	if plain := strings.ReplaceAll(name, "_", "-"); plain != name {
		hash := sha256.Sum256([]byte(cluster))
		return plain + "-" + hex.EncodeToString(hash[:4])
	}
	return name
}

// cut shortens a prefix to a length. A hash of the name keeps it unique.
func cut(prefix, name string, maximum int) string {
	if len(prefix) <= maximum {
		return prefix
	}
	hash := sha256.Sum256([]byte(name))
	suffix := "-" + hex.EncodeToString(hash[:4])
	return prefix[:maximum-len(suffix)] + suffix
}

var clusterForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)

// CheckCluster returns an error unless the name is one of an EKS cluster.
func CheckCluster(name string) error {
	switch {
	case len(name) > MaximumCluster:
		return fmt.Errorf(
			"%q has %d characters, EKS allows %d: give the name that `aws eks list-clusters` prints", name, len(name),
			MaximumCluster,
		)
	case !clusterForm.MatchString(name):
		return fmt.Errorf(
			"%q is no name of an EKS cluster (letters, digits, - and _, a letter or digit first): give the name that "+
				"`aws eks list-clusters` prints",
			name,
		)
	case name == ReservedCluster:
		return errors.New("the name " + name + " is reserved for the templates of releases: name the cluster otherwise")
	}
	return nil
}

var notAlphanumeric = regexp.MustCompile(`[^A-Za-z0-9]`)

// LogicalID returns the CDK's logical id for the path of a construct below its stack. A hash of the
// path is its end. The rest is for people: it leaves out the part Resource, and each part that the one
// before ends with.
// https://docs.aws.amazon.com/cdk/v2/guide/identifiers.html#identifiers-logical-ids
func LogicalID(path []string) string {
	var hashed, shown []string
	for _, part := range path {
		if part == "Default" {
			continue
		}
		hashed = append(hashed, part)
	}
	if len(hashed) == 1 && len(hashed[0]) <= 255 && !notAlphanumeric.MatchString(hashed[0]) {
		return hashed[0]
	}
	for _, part := range hashed {
		if len(shown) == 0 || !strings.HasSuffix(shown[len(shown)-1], part) {
			shown = append(shown, part)
		}
	}
	human := ""
	for _, part := range shown {
		if part != "Resource" {
			human += notAlphanumeric.ReplaceAllString(part, "")
		}
	}
	sum := md5.Sum([]byte(strings.Join(hashed, "/")))
	return human[:min(len(human), 240)] + strings.ToUpper(hex.EncodeToString(sum[:4]))
}

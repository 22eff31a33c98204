package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/whittle-dev/whittle/shared/api"
)

// Profiles finds the instance profile of an EC2NodeClass, and makes one for a
// class that names only a role.
type Profiles struct {
	IAM     *iam.Client
	Cluster string
	Region  string
}

// Ensure returns the name of the instance profile that the class's nodes use.
// Run again, after a crash between any two of its calls, it ends the same.
func (p Profiles) Ensure(ctx context.Context, class *api.EC2NodeClass) (string, error) {
	if class.Spec.InstanceProfile != nil && *class.Spec.InstanceProfile != "" {
		return *class.Spec.InstanceProfile, nil
	}
	// A class that is resolved already keeps what it has: IAM allows few calls.
	name := p.name(class.Spec.Role)
	if class.Status.InstanceProfile == name {
		return name, nil
	}
	output, err := p.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	switch {
	case IsGone(err):
		if err := p.create(ctx, name, class.Name); err != nil {
			return "", err
		}
	case err != nil:
		return "", fmt.Errorf("reading instance profile %q of spec.role %q: %w", name, class.Spec.Role, err)
	case len(output.InstanceProfile.Roles) > 0:
		return name, nil
	}
	_, err = p.IAM.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: aws.String(class.Spec.Role)})
	if err != nil && code(err) != "LimitExceeded" { // a profile holds one role: it is there
		return "", fmt.Errorf("adding spec.role %q to instance profile %q: %w", class.Spec.Role, name, err)
	}
	return name, nil
}

func (p Profiles) create(ctx context.Context, name, class string) error {
	_, err := p.IAM.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: &name,
		Tags: []types.Tag{
			{Key: aws.String(api.ClusterTagKey(p.Cluster)), Value: aws.String(api.ClusterTagOwned)},
			{Key: aws.String(api.EKSClusterNameTagKey), Value: aws.String(p.Cluster)},
			{Key: aws.String("topology.kubernetes.io/region"), Value: aws.String(p.Region)},
			{Key: aws.String(api.LabelNodeClass), Value: aws.String(class)},
		},
	})
	if err != nil && !exists(err) {
		return fmt.Errorf("creating instance profile %q: %w", name, err)
	}
	return nil
}

// name is the profile's: of the cluster, and another for each role.
func (p Profiles) name(role string) string {
	sum := sha256.Sum256([]byte(p.Region + "/" + role))
	return p.Cluster + "_" + hex.EncodeToString(sum[:8])
}

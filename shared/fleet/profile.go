package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/whittle-dev/whittle/shared/api"
)

// Profiles finds the instance profile of an EC2NodeClass, creates one for a class with a role, and
// deletes unused ones. Its methods return IAM's error wrapped; IsThrottled classifies it.
type Profiles struct {
	IAM     *iam.Client
	Cluster string
	Region  string
	// Verify makes Ensure read a profile that was verified before. Somebody may have deleted it, or
	// taken its role.
	Verify bool
}

// Name returns the name of the profile that is created for the class, or an empty text for a class
// with its own profile. Each pair of class and role has another name, so that a change of role does
// not affect running nodes.
func (p Profiles) Name(class *api.EC2NodeClass) string {
	if class.Spec.Role == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(p.Region + "/" + string(class.UID) + "/" + class.Spec.Role))
	return p.Cluster + "_" + hex.EncodeToString(sum[:8])
}

// path returns the IAM path of the cluster's profiles, as in Karpenter. Each class has a folder
// below it.
func (p Profiles) path() string { return "/karpenter/" + p.Region + "/" + p.Cluster + "/" }

// Ensure returns the name of the instance profile that the class's nodes use. It creates the profile
// of a class with a role where needed, and returns its name only once it has the role. A repetition
// after a crash has the same result. For a class that is being deleted it creates nothing. The
// profile of spec.instanceProfile is not read, because the functions need not reach IAM there.
func (p Profiles) Ensure(ctx context.Context, class *api.EC2NodeClass) (string, error) {
	if class.Spec.InstanceProfile != nil && *class.Spec.InstanceProfile != "" {
		return *class.Spec.InstanceProfile, nil
	}
	// A resolved class keeps its profile, because IAM allows few calls. The name alone proves nothing:
	// the role may be missing.
	name := p.Name(class)
	verified := !p.Verify && class.Status.InstanceProfile == name &&
		api.ConditionTrue(class.Status.Conditions, api.ConditionTypeInstanceProfileReady)
	if verified || class.DeletionTimestamp != nil {
		return class.Status.InstanceProfile, nil
	}
	if err := p.repair(ctx, class); err != nil {
		return "", err
	}
	return name, nil
}

// repair creates the class's profile and adds its role, as far as either is missing. It succeeds
// only if the profile has the role.
func (p Profiles) repair(ctx context.Context, class *api.EC2NodeClass) error {
	name, role := p.Name(class), class.Spec.RoleName()
	roles, there, err := p.roles(ctx, name)
	if err != nil {
		return fmt.Errorf("reading instance profile %q of spec.role %q: %w", name, role, err)
	}
	if !there {
		if err := p.create(ctx, name, class); err != nil {
			return err
		}
	}
	if slices.Contains(roles, role) {
		return nil
	}
	for _, other := range roles { // a profile holds one role
		if err := p.removeRole(ctx, name, other); err != nil {
			return err
		}
	}
	return p.addRole(ctx, name, role)
}

// roles returns the names of the profile's roles, and false for a profile that does not exist.
func (p Profiles) roles(ctx context.Context, name string) (roles []string, there bool, err error) {
	output, err := p.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if IsGone(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	for _, role := range output.InstanceProfile.Roles {
		roles = append(roles, aws.ToString(role.RoleName))
	}
	return roles, true, nil
}

func (p Profiles) addRole(ctx context.Context, name, role string) error {
	_, err := p.IAM.AddRoleToInstanceProfile(
		ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &role},
	)
	switch {
	case err == nil || code(err) == "DryRunOperation":
		return nil
	case code(err) == "LimitExceeded" || exists(err):
		// Another call has just added a role. It may be another role.
		roles, _, unread := p.roles(ctx, name)
		if unread == nil && slices.Contains(roles, role) {
			return nil
		}
		return fmt.Errorf("instance profile %q has the roles %q instead of spec.role %q: %w",
			name, roles, role, errors.Join(err, unread))
	case IsGone(err):
		return fmt.Errorf(
			"spec.role %q: there is no such IAM role, or instance profile %q has just been deleted: create the role, or "+
				"name one that exists: %w",
			role, name, err,
		)
	}
	return fmt.Errorf("adding spec.role %q to instance profile %q: %w", role, name, err)
}

func (p Profiles) create(ctx context.Context, name string, class *api.EC2NodeClass) error {
	input := &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Tags: p.tags(class.Name)}
	if class.UID != "" {
		input.Path = aws.String(p.path() + string(class.UID) + "/")
	}
	_, err := p.IAM.CreateInstanceProfile(ctx, input)
	if err != nil && !exists(err) {
		return fmt.Errorf("creating instance profile %q: %w", name, err)
	}
	return nil
}

// tags returns the tags to which the functions' rights on profiles are restricted.
func (p Profiles) tags(class string) []types.Tag {
	return []types.Tag{
		{Key: aws.String(api.ClusterTagKey(p.Cluster)), Value: aws.String(api.ClusterTagOwned)},
		{Key: aws.String(api.EKSClusterNameTagKey), Value: aws.String(p.Cluster)},
		{Key: aws.String("topology.kubernetes.io/region"), Value: aws.String(p.Region)},
		{Key: aws.String(api.LabelNodeClass), Value: aws.String(class)},
	}
}

func (p Profiles) removeRole(ctx context.Context, name, role string) error {
	_, err := p.IAM.RemoveRoleFromInstanceProfile(
		ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &name, RoleName: &role},
	)
	if err != nil && !isDone(err) {
		return fmt.Errorf("removing role %q from instance profile %q: %w", role, name, err)
	}
	return nil
}

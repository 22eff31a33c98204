package fleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/whittle-dev/whittle/shared/api"
)

// Profile is an instance profile that Whittle created for an EC2NodeClass.
type Profile struct {
	Name     string
	ClassUID string
}

// unusedSinceTagKey is the tag with the time (RFC 3339) since which a profile is unused.
const unusedSinceTagKey = api.OwnGroup + "/unused-since"

// List returns the profiles that were created for the cluster's classes, by their path.
func (p Profiles) List(ctx context.Context) ([]Profile, error) {
	var found []Profile
	pages := iam.NewListInstanceProfilesPaginator(p.IAM, &iam.ListInstanceProfilesInput{PathPrefix: aws.String(p.path())})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the instance profiles below %s: %w", p.path(), err)
		}
		for _, listed := range page.InstanceProfiles {
			found = append(found, Profile{
				Name:     aws.ToString(listed.InstanceProfileName),
				ClassUID: strings.Trim(strings.TrimPrefix(aws.ToString(listed.Path), p.path()), "/"),
			})
		}
	}
	return found, nil
}

// UnusedSince returns the time since which the profile is unused, or zero where it is in use or was
// never found unused. It returns false for a profile that does not exist or lacks the cluster's
// tags.
func (p Profiles) UnusedSince(ctx context.Context, name string) (since time.Time, own bool, err error) {
	tags, err := p.read(ctx, name)
	if err != nil || tags == nil || tags[api.ClusterTagKey(p.Cluster)] != api.ClusterTagOwned ||
		tags[api.LabelNodeClass] == "" {
		return time.Time{}, false, err
	}
	if text := tags[unusedSinceTagKey]; text != "" {
		since, err = time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, true, nil // somebody changed the tag: the time starts again
		}
	}
	return since, true, nil
}

// read returns the tags of a profile, or nil where it does not exist.
func (p Profiles) read(ctx context.Context, name string) (map[string]string, error) {
	output, err := p.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading instance profile %q: %w", name, err)
	}
	tags := map[string]string{}
	for _, tag := range output.InstanceProfile.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags, nil
}

// MarkUnused stores the time since which the profile is unused. The zero time removes it. It
// succeeds for a profile that does not exist.
func (p Profiles) MarkUnused(ctx context.Context, name string, since time.Time) error {
	tags, err := p.read(ctx, name)
	if err != nil || tags == nil {
		return err
	}
	text := ""
	if !since.IsZero() {
		text = since.UTC().Format(time.RFC3339)
	}
	// The functions' rights require a request with the cluster's tags.
	_, err = p.IAM.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{
		InstanceProfileName: &name,
		Tags: append(
			p.tags(tags[api.LabelNodeClass]), types.Tag{Key: aws.String(unusedSinceTagKey), Value: &text},
		),
	})
	if err != nil && !isDone(err) {
		return fmt.Errorf("tagging instance profile %q: %w", name, err)
	}
	return nil
}

// Delete removes the role from the profile and deletes the profile. It succeeds for a profile that
// does not exist.
func (p Profiles) Delete(ctx context.Context, name string) error {
	output, err := p.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if IsGone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading instance profile %q: %w", name, err)
	}
	for _, inside := range output.InstanceProfile.Roles {
		if err := p.removeRole(ctx, name, aws.ToString(inside.RoleName)); err != nil {
			return err
		}
	}
	_, err = p.IAM.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
	if err != nil && !isDone(err) && !p.deleted(ctx, name, err) {
		return fmt.Errorf("deleting instance profile %q: %w", name, err)
	}
	return nil
}

// deleted reports whether the refused call deleted the profile at an earlier attempt, whose answer
// was lost. The functions' rights depend on the profile's tags, and a profile that is gone has none.
func (p Profiles) deleted(ctx context.Context, name string, refused error) bool {
	if !IsDenied(refused) {
		return false
	}
	tags, err := p.read(ctx, name)
	return err == nil && tags == nil
}

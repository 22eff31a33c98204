package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/api"
)

// LaunchTemplateTagKey is EC2's own tag with the id of the launch template of an instance.
const LaunchTemplateTagKey = "aws:ec2launchtemplate:id"

// Template is a launch template that Whittle created for an EC2NodeClass.
type Template struct {
	ID, Name string
	Class    string
	Created  time.Time
}

// LaunchTemplates lists the cluster's launch templates.
func (c *Client) LaunchTemplates(ctx context.Context) ([]Template, error) {
	var found []Template
	pages := ec2.NewDescribeLaunchTemplatesPaginator(c.ec2, &ec2.DescribeLaunchTemplatesInput{
		MaxResults: aws.Int32(200), // EC2's maximum
		Filters: []types.Filter{
			{Name: aws.String("tag:" + api.ClusterTagKey(c.cluster)), Values: []string{api.ClusterTagOwned}},
			{Name: aws.String("tag-key"), Values: []string{api.NodeClassTagKey}},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the launch templates of cluster %q: %w", c.cluster, err)
		}
		for _, listed := range page.LaunchTemplates {
			template := Template{
				ID: aws.ToString(listed.LaunchTemplateId), Name: aws.ToString(listed.LaunchTemplateName),
				Created: aws.ToTime(listed.CreateTime),
			}
			for _, tag := range listed.Tags {
				if aws.ToString(tag.Key) == api.NodeClassTagKey {
					template.Class = aws.ToString(tag.Value)
				}
			}
			found = append(found, template)
		}
	}
	return found, nil
}

// DeleteLaunchTemplate deletes a launch template by its id, which spares a newer template with the
// same name. It succeeds for a template that does not exist. A container that remembers the
// template creates it again when EC2 reports it missing.
func (c *Client) DeleteLaunchTemplate(ctx context.Context, id string) error {
	_, err := c.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})
	if err != nil && !isDone(err) && !c.templateDeleted(ctx, id, err) {
		return fmt.Errorf("deleting launch template %s: %w", id, err)
	}
	return nil
}

// templateDeleted reports whether another invocation, or an earlier attempt whose answer was lost,
// deleted the template of the refused call. The functions' rights depend on the template's tags, and
// a template that is gone has none.
func (c *Client) templateDeleted(ctx context.Context, id string, refused error) bool {
	if !IsDenied(refused) {
		return false
	}
	_, err := c.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}})
	return IsGone(err)
}

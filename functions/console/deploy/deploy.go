// Package deploy brings a CloudFormation stack to a template, by a change set, and tells what happens.
//
// Flow: the caller uploads the functions and the template to S3. Apply makes a change set of the
// template, lists its changes, executes it and prints the stack's events until the stack rests.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// Deployer deploys in one account and region.
type Deployer struct {
	objects *s3.Client
	stacks  *cloudformation.Client
	region  string
	// out gets a line for each change and event.
	out io.Writer
	// now is the clock that names change sets. pause is the time between two looks at a stack.
	now   func() time.Time
	pause time.Duration
}

// New makes a Deployer that prints to out.
func New(config aws.Config, now func() time.Time, out io.Writer) *Deployer {
	return &Deployer{
		objects: s3.NewFromConfig(config), stacks: cloudformation.NewFromConfig(config), region: config.Region,
		out: out, now: now, pause: 2 * time.Second,
	}
}

// Upload writes an object.
func (d *Deployer) Upload(ctx context.Context, bucket, key string, body io.Reader) error {
	_, err := d.objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: body})
	if err != nil {
		return fmt.Errorf("uploading s3://%s/%s: the bucket has to exist in %s, and you need s3:PutObject: %w", bucket, key,
			d.region, err)
	}
	return nil
}

// Address is the address of an object, as CloudFormation reads templates.
func (d *Deployer) Address(bucket, key string) string {
	suffix := "amazonaws.com"
	if strings.HasPrefix(d.region, "cn-") {
		suffix = "amazonaws.com.cn"
	}
	return fmt.Sprintf("https://s3.%s.%s/%s/%s", d.region, suffix, bucket, key)
}

// Stack is what Apply makes of a stack.
type Stack struct {
	Name, TemplateURL string
	// Protected makes CloudFormation refuse to delete the stack.
	Protected bool
}

// Apply creates or updates a stack. Its error has the reason of the first failed resource.
func (d *Deployer) Apply(ctx context.Context, stack Stack) error {
	kind, err := d.kindOf(ctx, stack.Name)
	if err != nil {
		return err
	}
	changed, err := d.change(ctx, stack, kind)
	if err != nil {
		return err
	}
	if !changed {
		if _, err := fmt.Fprintf(d.out, "%s is as the template says: nothing changes\n", stack.Name); err != nil {
			return err
		}
	}
	_, err = d.stacks.UpdateTerminationProtection(ctx, &cloudformation.UpdateTerminationProtectionInput{
		StackName: &stack.Name, EnableTerminationProtection: &stack.Protected,
	})
	if err != nil {
		return fmt.Errorf("setting the stack's termination protection to %v: %w", stack.Protected, err)
	}
	return d.outputs(ctx, stack.Name)
}

// kindOf says whether a change set creates the stack or updates it.
func (d *Deployer) kindOf(ctx context.Context, name string) (types.ChangeSetType, error) {
	found, err := d.stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	var refusal smithy.APIError
	if errors.As(err, &refusal) && strings.Contains(refusal.ErrorMessage(), "does not exist") {
		return types.ChangeSetTypeCreate, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the stack %s: %w", name, err)
	}
	switch status := found.Stacks[0].StackStatus; {
	case status == types.StackStatusReviewInProgress:
		return types.ChangeSetTypeCreate, nil
	case status == types.StackStatusRollbackComplete || status == types.StackStatusRollbackFailed ||
		status == types.StackStatusDeleteFailed:
		return "", fmt.Errorf("the stack %s is %s, which nothing can change: delete it by `aws cloudformation delete-stack "+
			"--stack-name %s`, and install again", name, status, name)
	case strings.HasSuffix(string(status), "_IN_PROGRESS"):
		return "", fmt.Errorf("the stack %s is %s: wait for its end, and install again", name, status)
	}
	return types.ChangeSetTypeUpdate, nil
}

// change makes a change set and executes it. It reports whether there was anything to change.
func (d *Deployer) change(ctx context.Context, stack Stack, kind types.ChangeSetType) (bool, error) {
	set := "whittle-" + d.now().UTC().Format("20060102-150405.000")
	set = strings.ReplaceAll(set, ".", "-")
	_, err := d.stacks.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{
		StackName: &stack.Name, ChangeSetName: &set, ChangeSetType: kind, TemplateURL: &stack.TemplateURL,
		Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		return false, fmt.Errorf("making a change set of %s: %w", stack.Name, err)
	}
	changes, err := d.awaitChanges(ctx, stack.Name, set)
	if err != nil {
		_, removal := d.stacks.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{
			StackName: &stack.Name, ChangeSetName: &set,
		})
		if errors.Is(err, errNoChanges) {
			return false, removal
		}
		return false, errors.Join(fmt.Errorf("the change set %s of %s: %w", set, stack.Name, err), removal)
	}
	for _, one := range changes {
		if one.ResourceChange == nil {
			continue
		}
		_, err := fmt.Fprintf(d.out, "%-7s %s %s\n", one.ResourceChange.Action,
			aws.ToString(one.ResourceChange.ResourceType), aws.ToString(one.ResourceChange.LogicalResourceId))
		if err != nil {
			return false, err
		}
	}
	last, err := d.lastEvent(ctx, stack.Name)
	if err != nil {
		return false, err
	}
	_, err = d.stacks.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{
		StackName: &stack.Name, ChangeSetName: &set,
	})
	if err != nil {
		return false, fmt.Errorf("executing the change set %s of %s: %w", set, stack.Name, err)
	}
	return true, d.follow(ctx, stack.Name, last)
}

// errNoChanges says that a change set is empty.
var errNoChanges = errors.New("there are no changes")

// awaitChanges waits until a change set is complete, and returns its changes.
func (d *Deployer) awaitChanges(ctx context.Context, stack, set string) ([]types.Change, error) {
	for {
		found, err := d.stacks.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{
			StackName: &stack, ChangeSetName: &set,
		})
		if err != nil {
			return nil, err
		}
		reason := aws.ToString(found.StatusReason)
		switch {
		case found.Status == types.ChangeSetStatusCreateComplete:
			return d.allChanges(ctx, stack, set, found)
		case found.Status == types.ChangeSetStatusFailed &&
			(strings.Contains(reason, "didn't contain changes") || strings.Contains(reason, "No updates are to be")):
			return nil, errNoChanges
		case found.Status == types.ChangeSetStatusFailed:
			return nil, errors.New(reason)
		}
		if err := d.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// allChanges reads the further pages of a change set.
func (d *Deployer) allChanges(
	ctx context.Context, stack, set string, page *cloudformation.DescribeChangeSetOutput,
) ([]types.Change, error) {
	changes := page.Changes
	for page.NextToken != nil {
		var err error
		page, err = d.stacks.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{
			StackName: &stack, ChangeSetName: &set, NextToken: page.NextToken,
		})
		if err != nil {
			return nil, err
		}
		changes = append(changes, page.Changes...)
	}
	return changes, nil
}

func (d *Deployer) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d.pause):
		return nil
	}
}

// outputs prints the stack's outputs.
func (d *Deployer) outputs(ctx context.Context, name string) error {
	found, err := d.stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return fmt.Errorf("reading the stack %s: %w", name, err)
	}
	for _, one := range found.Stacks[0].Outputs {
		_, err := fmt.Fprintf(d.out, "%s (%s)\n", aws.ToString(one.OutputValue), aws.ToString(one.Description))
		if err != nil {
			return err
		}
	}
	return nil
}

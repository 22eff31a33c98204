package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Status lists the failing status checks of an instance and the work that EC2 announced for it.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
type Status struct {
	// SystemImpaired and InstanceImpaired are the times since which these checks fail, or zero.
	SystemImpaired, InstanceImpaired time.Time
	Events                           []ScheduledEvent
}

// ScheduledEvent is announced work that EC2 has not done yet.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
type ScheduledEvent struct {
	ID        string
	Code      string // such as instance-retirement
	NotBefore time.Time
}

// statusFilters selects the few instances with a failing check or announced work among all
// instances of the account and region. EC2 has no filter for tags here, and no "or" of filters.
func statusFilters() []types.Filter {
	impaired := []string{string(types.SummaryStatusImpaired)}
	return []types.Filter{
		{Name: aws.String("system-status.status"), Values: impaired},
		{Name: aws.String("instance-status.status"), Values: impaired},
		workFilter(),
	}
}

// workFilter selects the instances with announced work.
func workFilter() types.Filter {
	return types.Filter{Name: aws.String("event.code"), Values: []string{
		string(types.EventCodeInstanceReboot), string(types.EventCodeSystemReboot), string(types.EventCodeSystemMaintenance),
		string(types.EventCodeInstanceRetirement), string(types.EventCodeInstanceStop),
	}}
}

// Announced lists the ids of the account's instances in the region for which EC2 has announced work
// that it has not done yet, including instances of others.
func (c *Client) Announced(ctx context.Context) (map[string]bool, error) {
	listed, err := c.statuses(ctx, workFilter())
	if err != nil {
		return nil, fmt.Errorf("reading the announced work on instances: %w", err)
	}
	found := map[string]bool{}
	for _, one := range listed {
		if len(status(one).Events) > 0 {
			found[aws.ToString(one.InstanceId)] = true
		}
	}
	return found, nil
}

// Statuses lists, by id, the instances of the account and region that fail a status check or have
// announced work, including instances of others. It omits healthy instances. A check counts once
// EC2 gives the time since which it fails. The check of attached volumes does not count, as in
// Karpenter.
func (c *Client) Statuses(ctx context.Context) (map[string]Status, error) {
	found := map[string]Status{}
	var mutex sync.Mutex
	var group sync.WaitGroup
	var failed error
	for _, filter := range statusFilters() {
		group.Go(func() {
			listed, err := c.statuses(ctx, filter)
			mutex.Lock()
			defer mutex.Unlock()
			failed = errors.Join(failed, err)
			for _, one := range listed {
				found[aws.ToString(one.InstanceId)] = status(one)
			}
		})
	}
	group.Wait()
	if failed != nil {
		return nil, fmt.Errorf("reading the status checks of instances: %w", failed)
	}
	return found, nil
}

func (c *Client) statuses(ctx context.Context, filter types.Filter) ([]types.InstanceStatus, error) {
	var listed []types.InstanceStatus
	pages := ec2.NewDescribeInstanceStatusPaginator(
		c.ec2, &ec2.DescribeInstanceStatusInput{MaxResults: manyResults(), Filters: []types.Filter{filter}},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		listed = append(listed, page.InstanceStatuses...)
	}
	return listed, nil
}

func status(described types.InstanceStatus) Status {
	made := Status{
		SystemImpaired:   failingSince(described.SystemStatus),
		InstanceImpaired: failingSince(described.InstanceStatus),
	}
	for _, event := range described.Events {
		// EC2 lists finished work for a while, with a prefix in its description.
		description := aws.ToString(event.Description)
		if event.NotBefore == nil || strings.HasPrefix(description, "[Completed]") ||
			strings.HasPrefix(description, "[Canceled]") {
			continue
		}
		made.Events = append(
			made.Events,
			ScheduledEvent{ID: aws.ToString(event.InstanceEventId), Code: string(event.Code), NotBefore: *event.NotBefore},
		)
	}
	return made
}

func failingSince(summary *types.InstanceStatusSummary) time.Time {
	if summary == nil {
		return time.Time{}
	}
	var first time.Time
	for _, detail := range summary.Details {
		if detail.Status == types.StatusTypeFailed && detail.ImpairedSince != nil &&
			(first.IsZero() || detail.ImpairedSince.Before(first)) {
			first = *detail.ImpairedSince
		}
	}
	return first
}

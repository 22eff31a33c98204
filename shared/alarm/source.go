package alarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"github.com/whittle-dev/whittle/shared/freeze"
)

const (
	// patience bounds one reading: a pass waits for it.
	patience = 5 * time.Second
	// maximumPages bounds the pages of a reading. One page has room for all alarms, and a page may have one.
	maximumPages = 2 * freeze.MaximumAlarms
)

// errEndless says that CloudWatch goes on with pages.
var errEndless = errors.New("the list of alarms does not end")

// Settings say which alarms freeze, and when.
type Settings struct {
	// Watched are those that the setting freezeAlarms names.
	Watched []freeze.Watched
	// Tagged adds those with the tag whittle.dev/freeze.
	Tagged bool
	// OnInsufficientData counts the state INSUFFICIENT_DATA as ringing.
	OnInsufficientData bool
}

// Source reads the alarms of the settings. A nil Source has none.
type Source struct {
	client *cloudwatch.Client
	tags   *resourcegroupstaggingapi.Client // nil where tags do not count
	Settings
	now func() time.Time
}

// Parse reads the setting as functions have it: a list in JSON. An empty text is an empty list.
func Parse(text string) ([]freeze.Watched, error) {
	var items []string
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, fmt.Errorf("%q is no list of alarms in JSON: %w", text, err)
	}
	var watched []freeze.Watched
	for _, item := range items {
		one, err := freeze.ParseWatched(item)
		if err != nil {
			return nil, err
		}
		watched = append(watched, one)
	}
	if len(watched) > freeze.MaximumAlarms {
		return nil, fmt.Errorf("%d alarms are too many: at most %d freeze disruption", len(watched), freeze.MaximumAlarms)
	}
	return watched, nil
}

// New returns a source for the alarms, and nil where none freezes.
func New(config aws.Config, settings Settings, now func() time.Time) *Source {
	if len(settings.Watched) == 0 && !settings.Tagged {
		return nil
	}
	client := cloudwatch.NewFromConfig(config, func(options *cloudwatch.Options) {
		// People can read JSON in a wiretap. The SDK's own choice is CBOR, which saves nothing here.
		options.Protocol = awsjson.New10(schemas.GraniteServiceVersion20100801)
	})
	made := &Source{client: client, Settings: settings, now: now}
	if settings.Tagged {
		made.tags = resourcegroupstaggingapi.NewFromConfig(config)
	}
	return made
}

// Read reads all the alarms.
func (s *Source) Read(ctx context.Context) (*freeze.Alarms, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began, said := s.now(), map[string]freeze.Described{}
	watched, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	if len(watched) == 0 { // without names CloudWatch tells of every alarm
		return freeze.Reading(nil, nil, s.OnInsufficientData, began), nil
	}
	asked := &cloudwatch.DescribeAlarmsInput{
		AlarmNames: names(watched),
		// Without the types CloudWatch leaves out composite alarms.
		AlarmTypes: []types.AlarmType{types.AlarmTypeMetricAlarm, types.AlarmTypeCompositeAlarm},
		MaxRecords: aws.Int32(freeze.MaximumAlarms),
	}
	for range maximumPages {
		page, err := s.client.DescribeAlarms(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("reading the CloudWatch alarms that freeze (setting freezeAlarms): %w", err)
		}
		add(said, page)
		if aws.ToString(page.NextToken) == "" {
			return freeze.Reading(watched, said, s.OnInsufficientData, began), nil
		}
		asked.NextToken = page.NextToken
	}
	return nil, fmt.Errorf("reading the CloudWatch alarms that freeze (setting freezeAlarms): %w", errEndless)
}

// Check reports why the alarms cannot be read, or which of them does not exist. The installation asks:
// later, either freezes disruption.
func (s *Source) Check(ctx context.Context) error {
	if s == nil {
		return nil
	}
	read, err := s.Read(ctx)
	if err != nil {
		return err
	}
	if missing := read.Missing(); len(missing) > 0 {
		return fmt.Errorf("the setting freezeAlarms names alarms that this account and region do not have, neither as "+
			"metric alarms nor as composite ones: %s", strings.Join(missing, ", "))
	}
	return nil
}

// all are the alarms that the setting names, and those with the tag. The setting comes first for an alarm of both.
func (s *Source) all(ctx context.Context) ([]freeze.Watched, error) {
	all := slices.Clone(s.Watched)
	if s.tags == nil {
		return all, nil
	}
	asked := &resourcegroupstaggingapi.GetResourcesInput{
		ResourceTypeFilters: []string{"cloudwatch:alarm"},
		TagFilters:          []tagtypes.TagFilter{{Key: aws.String(freeze.AlarmTagKey)}},
	}
	for range maximumPages {
		page, err := s.tags.GetResources(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("reading which CloudWatch alarms have the tag %s: %w", freeze.AlarmTagKey, err)
		}
		for i := range page.ResourceTagMappingList {
			all = addTagged(ctx, all, &page.ResourceTagMappingList[i])
		}
		if len(all) > freeze.MaximumAlarms {
			return nil, fmt.Errorf("more than %d alarms freeze: take the tag %s off some, and make a composite alarm",
				freeze.MaximumAlarms, freeze.AlarmTagKey)
		}
		if aws.ToString(page.PaginationToken) == "" {
			return all, nil
		}
		asked.PaginationToken = page.PaginationToken
	}
	return nil, fmt.Errorf("reading which CloudWatch alarms have the tag %s: %w", freeze.AlarmTagKey, errEndless)
}

// addTagged adds an alarm with the tag, unless it is there.
func addTagged(ctx context.Context, all []freeze.Watched, found *tagtypes.ResourceTagMapping) []freeze.Watched {
	for _, tag := range found.Tags {
		if aws.ToString(tag.Key) != freeze.AlarmTagKey {
			continue
		}
		one, err := freeze.Tagged(aws.ToString(found.ResourceARN), aws.ToString(tag.Value))
		if err != nil {
			slog.WarnContext(ctx, "the tag of an alarm cannot be read: the alarm counts for the whole cluster", "error", err)
		}
		known := func(other freeze.Watched) bool { return other.Name == one.Name }
		if one.Name != "" && !slices.ContainsFunc(all, known) {
			all = append(all, one)
		}
	}
	return all
}

// names are the names of the alarms, each once.
func names(watched []freeze.Watched) []string {
	var names []string
	for _, one := range watched {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// add adds the alarms of a page.
func add(said map[string]freeze.Described, page *cloudwatch.DescribeAlarmsOutput) {
	for i := range page.MetricAlarms {
		one := &page.MetricAlarms[i]
		said[aws.ToString(one.AlarmName)] = freeze.Described{
			ARN: aws.ToString(one.AlarmArn), State: string(one.StateValue),
			Since: since(one.StateTransitionedTimestamp, one.StateUpdatedTimestamp),
		}
	}
	for i := range page.CompositeAlarms {
		one := &page.CompositeAlarms[i]
		said[aws.ToString(one.AlarmName)] = freeze.Described{
			ARN: aws.ToString(one.AlarmArn), State: string(one.StateValue),
			Since: since(one.StateTransitionedTimestamp, one.StateUpdatedTimestamp),
		}
	}
}

// since is when an alarm came to its state. The time of an update may be later, because the reason of a
// state may change without it.
func since(transitioned, updated *time.Time) time.Time {
	if transitioned != nil {
		return *transitioned
	}
	return aws.ToTime(updated)
}

package alarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"github.com/whittle-dev/whittle/shared/freeze"
)

const (
	// patience bounds one reading: a pass waits for it.
	patience = 5 * time.Second
	// maximumPages bounds the pages of a reading. One page has room for all alarms.
	maximumPages = 10
)

// errEndless says that CloudWatch goes on with pages.
var errEndless = errors.New("the list of alarms does not end")

// Source reads the alarms that the setting names. A nil Source has none.
type Source struct {
	client             *cloudwatch.Client
	watched            []freeze.Watched
	onInsufficientData bool
	now                func() time.Time
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

// New returns a source for the alarms, and nil for none.
func New(config aws.Config, watched []freeze.Watched, onInsufficientData bool, now func() time.Time) *Source {
	if len(watched) == 0 {
		return nil
	}
	client := cloudwatch.NewFromConfig(config, func(options *cloudwatch.Options) {
		// People can read JSON in a wiretap. The SDK's own choice is CBOR, which saves nothing here.
		options.Protocol = awsjson.New10(schemas.GraniteServiceVersion20100801)
	})
	return &Source{client: client, watched: watched, onInsufficientData: onInsufficientData, now: now}
}

// Read reads all the alarms.
func (s *Source) Read(ctx context.Context) (*freeze.Alarms, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began, said := s.now(), map[string]freeze.Described{}
	asked := &cloudwatch.DescribeAlarmsInput{
		AlarmNames: s.names(),
		// Without the types CloudWatch leaves out composite alarms.
		AlarmTypes: []types.AlarmType{types.AlarmTypeMetricAlarm, types.AlarmTypeCompositeAlarm},
		MaxRecords: aws.Int32(freeze.MaximumAlarms),
	}
	for range maximumPages {
		page, err := s.client.DescribeAlarms(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("reading the CloudWatch alarms of the setting freezeAlarms: %w", err)
		}
		add(said, page)
		if aws.ToString(page.NextToken) == "" {
			return freeze.Reading(s.watched, said, s.onInsufficientData, began), nil
		}
		asked.NextToken = page.NextToken
	}
	return nil, fmt.Errorf("reading the CloudWatch alarms of the setting freezeAlarms: %w", errEndless)
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

// names are the names of the alarms, each once.
func (s *Source) names() []string {
	var names []string
	for _, one := range s.watched {
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

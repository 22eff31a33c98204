package infra

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/queue"
)

// alarmNames is how many characters the names of alarms have together at most. A pattern of EventBridge
// has 2,048, and the variables of a function have 4 KB.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
const alarmNames = 1500

// freezeAlarms accepts a list of alarms, by name or ARN, each with its scope.
func freezeAlarms(value any) ([]freeze.Watched, error) {
	items, err := list(value)
	if err != nil {
		return nil, err
	}
	var watched []freeze.Watched
	length := 0
	for _, item := range items {
		if isToken(item) {
			return nil, wrong(item, "is known at the deployment only: give the name of the alarm as text")
		}
		one, err := freeze.ParseWatched(item)
		if err != nil {
			return nil, err
		}
		watched, length = append(watched, one), length+len(one.Name)
	}
	switch {
	case len(watched) > freeze.MaximumAlarms:
		return nil, fmt.Errorf("%d alarms are too many: name %d at most, or a composite alarm", len(watched),
			freeze.MaximumAlarms)
	case length > alarmNames:
		return nil, fmt.Errorf("the names of the alarms have %d characters together: an event pattern has room for %d: "+
			"name a composite alarm", length, alarmNames)
	}
	return watched, onePlace(watched)
}

// onePlace refuses ARNs of several regions or accounts. CloudWatch tells a region of an account alone.
func onePlace(watched []freeze.Watched) error {
	var first freeze.Watched
	for _, one := range watched {
		if one.ARN == "" {
			continue
		}
		if first.ARN == "" {
			first = one
		}
		region, account := one.Place()
		if firstRegion, firstAccount := first.Place(); region != firstRegion || account != firstAccount {
			return fmt.Errorf("%s and %s are of different accounts or regions: name alarms of the cluster's own alone",
				first.ARN, one.ARN)
		}
	}
	return nil
}

// errPlace refuses an alarm that the functions cannot read.
var errPlace = errors.New("freezeAlarms: an alarm of another account or region cannot be read: " +
	"make an alarm on the same metric in the cluster's own")

// checkPlace compares the ARNs of alarms with the account and region of the deployment, as far as they are
// known: empty is not known.
func checkPlace(watched []freeze.Watched, account, region string) error {
	for _, one := range watched {
		its, of := one.Place()
		if one.ARN != "" && (account != "" && of != account || region != "" && its != region) {
			return fmt.Errorf("%w: %s, and the deployment is to %s in %s", errPlace, one.ARN, orUnknown(account),
				orUnknown(region))
		}
	}
	return nil
}

func orUnknown(text string) string {
	if text == "" {
		return "an account or region that is not known yet"
	}
	return text
}

// placeOf is the account and region of a stack, each empty where the deployment alone knows it.
func placeOf(stack awscdk.Stack) (account, region string) {
	if given := *stack.Account(); !isToken(given) {
		account = given
	}
	if given := *stack.Region(); !isToken(given) {
		region = given
	}
	return account, region
}

// alarmsFreeze reports whether alarms freeze disruption. A dry run disrupts nothing.
func alarmsFreeze(c *cluster) bool {
	named := len(c.configuration.freezeAlarms) > 0
	return (named || c.configuration.freezeTaggedAlarms) && !c.configuration.dryRun
}

// taggedAlarmsFreeze is the variable of functions for which tags of alarms count.
func taggedAlarmsFreeze(c *cluster) *string {
	return enabled(alarmsFreeze(c) && c.configuration.freezeTaggedAlarms)
}

// freezeAlarmsOf is the list of alarms for a function, in JSON, or empty.
func freezeAlarmsOf(c *cluster) *string {
	if !alarmsFreeze(c) || len(c.configuration.freezeAlarms) == 0 {
		return jsii.String("")
	}
	var items []string
	for _, one := range c.configuration.freezeAlarms {
		name := one.Name
		if one.ARN != "" {
			name = one.ARN
		}
		items = append(items, name+"="+one.Scope.String())
	}
	text, err := json.Marshal(items)
	if err != nil {
		panic(err) // texts
	}
	return jsii.String(string(text))
}

// readFreezeAlarms allows reading the states of alarms, where some freeze disruption. CloudWatch tells of
// composite alarms only with a right to all alarms.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarms.html
func readFreezeAlarms(c *cluster) []awsiam.PolicyStatement {
	if !alarmsFreeze(c) {
		return nil
	}
	actions := []string{"cloudwatch:DescribeAlarms"}
	if c.configuration.freezeTaggedAlarms {
		// It takes no resource either. It shows the tags and ARNs of the region's resources.
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonresourcegrouptaggingapi.html
		actions = append(actions, "tag:GetResources")
	}
	return []awsiam.PolicyStatement{describe("FreezeAlarms", actions...)}
}

// alarmRule is the rule for changes of the alarms that freeze disruption. No event has the tags of its alarm,
// so that with tags all alarms of the account wake provision.
func alarmRule(c *cluster) rule {
	pattern := map[string]any{
		"source": []string{"aws.cloudwatch"}, "detail-type": []string{"CloudWatch Alarm State Change"},
	}
	if !c.configuration.freezeTaggedAlarms {
		pattern["detail"] = map[string]any{"alarmName": freezeAlarmNames(c)}
	}
	return rule{id: "FreezeAlarm", description: "CloudWatch alarms that freeze disruption", pattern: pattern}
}

// freezeAlarmNames are the names of the alarms that the setting names.
func freezeAlarmNames(c *cluster) []string {
	var names []string
	for _, one := range c.configuration.freezeAlarms {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// alarmMessage is what provision gets for a change: that there was one, and nothing else.
func alarmMessage(c *cluster) *string {
	return awscdk.Stack_Of(c.scope).ToJsonString(
		map[string]any{"cluster": c.name, "reason": queue.ReasonAlarm}, nil)
}

// busName accepts the name of a bus of the account and region: no rule reads another.
func busName(value any) (string, error) {
	given, ok := value.(string)
	if !ok || !regexp.MustCompile(`^[A-Za-z0-9._-]{1,256}$`).MatchString(given) {
		return "", wrong(value, "is no name of an event bus: an ARN is none, because a rule reads a bus of its own account")
	}
	return given, nil
}

// orderRule is the rule for events by which others freeze and thaw. Functions of all clusters get them, and
// drop those that name another.
func orderRule(c *cluster) rule {
	return rule{
		id: "FreezeOrder", description: "others that freeze or thaw", bus: c.configuration.freezeEvents, urgent: true,
		pattern: map[string]any{
			"detail-type": []string{(&events.FreezeOrder{}).DetailType(), (&events.ThawOrder{}).DetailType()},
		},
	}
}

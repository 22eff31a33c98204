package infra

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestRulesMatch matches events with the synthesized patterns. At most one rule matches an event,
// so no event arrives twice.
func TestRulesMatch(t *testing.T) {
	template := synthesize(t, "prod")
	for _, test := range []struct {
		name, event string
		want        int
	}{
		{
			"spot interruption",
			`{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption ` +
				`Warning","detail":{"instance-id":"i-0","instance-action":"terminate"}}`,
			1,
		},
		{
			"rebalance",
			`{"source":"aws.ec2","detail-type":"EC2 Instance Rebalance Recommendation","detail":{"instance-id":"i-0"}}`, 1,
		},
		{
			"a user's request",
			`{"source":"my.pipeline","detail-type":"Provision Now","detail":{"cluster":"prod"}}`, 1,
		},
		{
			"a request for another cluster",
			`{"source":"my.pipeline","detail-type":"Provision Now","detail":{"cluster":"staging"}}`, 0,
		},
		{
			"running",
			`{"source":"aws.ec2","detail-type":"EC2 Instance State-change ` +
				`Notification","detail":{"instance-id":"i-0","state":"running"}}`,
			0,
		},
		{
			"terminated",
			`{"source":"aws.ec2","detail-type":"EC2 Instance State-change ` +
				`Notification","detail":{"instance-id":"i-0","state":"terminated"}}`,
			1,
		},
		{
			"pending",
			`{"source":"aws.ec2","detail-type":"EC2 Instance State-change ` +
				`Notification","detail":{"instance-id":"i-0","state":"pending"}}`,
			0,
		},
		{
			"no state",
			`{"source":"aws.ec2","detail-type":"EC2 Instance State-change Notification","detail":{"instance-id":"i-0"}}`, 0,
		},
		{
			"health",
			`{"source":"aws.health","detail-type":"AWS Health ` +
				`Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange"}}`,
			1,
		},
		{
			"health of another service",
			`{"source":"aws.health","detail-type":"AWS Health ` +
				`Event","detail":{"service":"RDS","eventTypeCategory":"scheduledChange"}}`,
			0,
		},
		{
			"health, an outage",
			`{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"issue"}}`, 0,
		},
		{
			"capacity reservation",
			`{"source":"aws.ec2","detail-type":"EC2 Capacity Reservation Instance Interruption ` +
				`Warning","detail":{"instance-id":"i-0"}}`,
			1,
		},
		{"capacity block", `{"source":"aws.ec2","detail-type":"Capacity Block Expiration Warning","detail":{}}`, 1},
		{
			"capacity block, the other name",
			`{"source":"aws.ec2","detail-type":"Capacity Block Reservation Expiration Warning","detail":{}}`, 1,
		},
		{
			"somebody's own event of the same name",
			`{"source":"my.app","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-0"}}`, 0,
		},
		{"another event of EC2", `{"source":"aws.ec2","detail-type":"EBS Volume Notification","detail":{}}`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var event map[string]any
			if err := json.Unmarshal([]byte(test.event), &event); err != nil {
				t.Fatal(err)
			}
			var matching []string
			for id, rule := range template.ofType("AWS::Events::Rule") {
				if matches(t, rule.Properties["EventPattern"].(map[string]any), event) {
					matching = append(matching, id)
				}
			}
			if len(matching) != test.want {
				t.Errorf("matched by %v, want %d rules", matching, test.want)
			}
		})
	}
}

// matches supports the part of EventBridge's pattern language that the rules use: lists of exact
// strings.
func matches(t *testing.T, pattern, event map[string]any) bool {
	t.Helper()
	for key, want := range pattern {
		switch want := want.(type) {
		case []any:
			if !slices.Contains(want, event[key]) {
				return false
			}
		case map[string]any:
			inner, ok := event[key].(map[string]any)
			if !ok || !matches(t, want, inner) {
				return false
			}
		default:
			t.Fatalf("pattern %s is %T, EventBridge wants a list", key, want)
		}
	}
	return true
}

// TestWarningsDoNotWaitForTheCrowd holds that events that leave two minutes have a queue without the state
// changes of all the account's instances.
func TestWarningsDoNotWaitForTheCrowd(t *testing.T) {
	template := synthesize(t, "prod")
	urgent := []string{
		"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
		"EC2 Capacity Reservation Instance Interruption Warning",
	}
	for id, rule := range template.ofType("AWS::Events::Rule") {
		types := rule.Properties["EventPattern"].(map[string]any)["detail-type"].([]any)
		target := rule.Properties["Targets"].([]any)[0].(map[string]any)
		queue := template.Resources[references(target["Arn"])[0]].Properties["QueueName"]
		if slices.Contains(types, any("Delivery Test")) {
			continue // it tests both queues
		}
		isUrgent := slices.ContainsFunc(urgent, func(kind string) bool { return slices.Contains(types, any(kind)) })
		if isUrgent != (queue == "whittle-prod-warnings") {
			t.Errorf("%s sends %v to %v", id, types, queue)
		}
	}
}

// TestUndeliveredEventsAreKept holds for events that the user's key keeps out of their queues: the queue for
// them has another key. EventBridge's own limit of a day would hide them for so long.
func TestUndeliveredEventsAreKept(t *testing.T) {
	template := chosen(t, map[string]any{"kmsKey": "arn:aws:kms:us-east-1:123456789012:key/" +
		"00000000-0000-0000-0000-000000000000"})
	for id, rule := range template.ofType("AWS::Events::Rule") {
		for _, target := range rule.Properties["Targets"].([]any) {
			wantDeadLetters(t, template, id, target.(map[string]any))
		}
	}
	for id, schedule := range template.ofType("AWS::Scheduler::Schedule") {
		wantDeadLetters(t, template, id, schedule.Properties["Target"].(map[string]any))
	}
}

// wantDeadLetters checks what a target of a rule or a schedule does with an event that it does not take.
func wantDeadLetters(t *testing.T, template template, id string, target map[string]any) {
	t.Helper()
	dead, _ := target["DeadLetterConfig"].(map[string]any)
	if len(references(dead["Arn"])) != 1 {
		t.Errorf("%s loses events that its target does not take", id)
		return
	}
	queue := template.Resources[references(dead["Arn"])[0]]
	if queue.Properties["QueueName"] != "whittle-prod-undelivered" || queue.Properties["SqsManagedSseEnabled"] != true ||
		queue.Properties["KmsMasterKeyId"] != nil {
		t.Errorf("%s: undelivered events go to %v", id, queue.Properties)
	}
	retry, _ := target["RetryPolicy"].(map[string]any)
	if age, _ := retry["MaximumEventAgeInSeconds"].(float64); age < 60 || age > 3600 {
		t.Errorf("%s: an event is tried for %v s", id, age)
	}
}

func TestRulesAreOnTheDefaultBusAndOn(t *testing.T) {
	for id, rule := range synthesize(t, "prod").ofType("AWS::Events::Rule") {
		if rule.Properties["EventBusName"] != nil {
			t.Errorf("%s is on the bus %v; EC2 and Health send to the default one", id, rule.Properties["EventBusName"])
		}
		if rule.Properties["State"] != "ENABLED" {
			t.Errorf("%s is %v", id, rule.Properties["State"])
		}
	}
}

package infra

import (
	"reflect"
	"slices"
	"testing"
)

func TestQueues(t *testing.T) {
	template := synthesize(t, "prod")
	all := template.ofType("AWS::SQS::Queue")
	dead := 0
	for id, queue := range all {
		name := queue.Properties["QueueName"].(string)
		t.Run(name, func(t *testing.T) {
			if queue.Properties["SqsManagedSseEnabled"] != true {
				t.Error("not encrypted")
			}
			if !closedToPlainHTTP(template, id) {
				t.Error("open to plain HTTP")
			}
			if name == "whittle-prod-dead" {
				dead++
				return
			}
			if name == "whittle-prod-undelivered" {
				return // it is one itself, of the rules
			}
			redrive, ok := queue.Properties["RedrivePolicy"].(map[string]any)
			if !ok {
				t.Fatal("no dead-letter queue")
			}
			target := all[references(redrive["deadLetterTargetArn"])[0]]
			if got := target.Properties["QueueName"]; got != "whittle-prod-dead" {
				t.Errorf("dead letters go to %v", got)
			}
			receives := redrive["maxReceiveCount"].(float64)
			visibility := queue.Properties["VisibilityTimeout"].(float64)
			retention := queue.Properties["MessageRetentionPeriod"].(float64)
			if retention <= receives*visibility {
				t.Errorf(
					"a message lives %v s, %v receives take %v s: it would expire before it reaches the dead-letter queue", retention,
					receives, receives*visibility,
				)
			}
			if deadRetention := target.Properties["MessageRetentionPeriod"].(float64); deadRetention < retention {
				t.Errorf("dead letters live %v s, less than the queue's own %v s", deadRetention, retention)
			}
		})
	}
	if dead != 1 || len(all) != len(queueNames())+2 {
		t.Errorf("%d of %d queues are for dead letters, want one beside those of functions and of undelivered events",
			dead, len(all))
	}
}

// closedToPlainHTTP reports whether a policy of the queue refuses requests without TLS.
func closedToPlainHTTP(in template, queue string) bool {
	for _, policy := range in.ofType("AWS::SQS::QueuePolicy") {
		if references(policy.Properties["Queues"])[0] != queue {
			continue
		}
		for _, item := range policy.Properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			s := item.(map[string]any)
			if s["Effect"] == "Deny" && s["Action"] == "sqs:*" && reflect.DeepEqual(
				s["Principal"], map[string]any{"AWS": "*"},
			) &&
				reflect.DeepEqual(s["Condition"], map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}}) {
				return true
			}
		}
	}
	return false
}

func TestEventSourceMappings(t *testing.T) {
	template := synthesize(t, "prod")
	woken := map[string]bool{}
	for id, mapping := range template.ofType("AWS::Lambda::EventSourceMapping") {
		f := template.Resources[references(mapping.Properties["FunctionName"])[0]]
		queue := template.Resources[references(mapping.Properties["EventSourceArn"])[0]]
		name := f.Properties["FunctionName"].(string)
		read := queue.Properties["QueueName"].(string)
		woken[read] = true
		if read != name && (read != "whittle-prod-warnings" || name != "whittle-prod-interrupt") {
			t.Errorf("%s reads the queue %v", name, read)
		}
		visibility := queue.Properties["VisibilityTimeout"].(float64)
		// A spot warning must come back within its two minutes after the death of its function.
		factor, most := 6.0, 360.0
		if name == "whittle-prod-interrupt" {
			factor, most = 2, 30
		}
		if timeout := f.Properties["Timeout"].(float64); visibility < factor*timeout || visibility > most {
			t.Errorf("%s runs for %v s, its queue hides a message for %v s", name, timeout, visibility)
		}
		if got := mapping.Properties["FunctionResponseTypes"]; !reflect.DeepEqual(got, []any{"ReportBatchItemFailures"}) {
			t.Errorf("%s: response types %v", id, got)
		}
		// A maximum concurrency can cost more polls of an empty queue. Only functions without a
		// Lease have one.
		var scaling any
		if name == "whittle-prod-interrupt" || name == "whittle-prod-lifecycle" {
			scaling = map[string]any{"MaximumConcurrency": 2.0}
		}
		if got := mapping.Properties["ScalingConfig"]; !reflect.DeepEqual(got, scaling) {
			t.Errorf("%s: ScalingConfig %v, want %v", id, got, scaling)
		}
		if mapping.Properties["BatchSize"] != 10.0 || mapping.Properties["MaximumBatchingWindowInSeconds"] != nil {
			t.Errorf(
				"%s: batch size %v, window %v", id, mapping.Properties["BatchSize"],
				mapping.Properties["MaximumBatchingWindowInSeconds"],
			)
		}
	}
	for _, name := range []string{"provision", "interrupt", "warnings", "lifecycle", "disrupt"} {
		if !woken["whittle-prod-"+name] {
			t.Errorf("nobody reads the queue %s", name)
		}
	}
}

// TestOnlyRulesSendFromOutside checks the only grants of the queues' own policies: each rule may send
// to its own queue.
func TestOnlyRulesSendFromOutside(t *testing.T) {
	template := synthesize(t, "prod")
	grants := 0
	for id, policy := range template.ofType("AWS::SQS::QueuePolicy") {
		for _, item := range policy.Properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			s := item.(map[string]any)
			if s["Effect"] != "Allow" {
				continue
			}
			grants++
			if s["Action"] != "sqs:SendMessage" || !reflect.DeepEqual(
				s["Principal"], map[string]any{"Service": "events.amazonaws.com"},
			) {
				t.Errorf("%s allows %v to %v", id, s["Action"], s["Principal"])
			}
			sources := map[string]bool{}
			for _, rule := range references(s["Condition"].(map[string]any)["ArnEquals"].(map[string]any)["aws:SourceArn"]) {
				sources[rule] = true
			}
			for rule, r := range template.ofType("AWS::Events::Rule") {
				targets := r.Properties["Targets"].([]any)
				to := slices.ContainsFunc(targets, func(one any) bool {
					target := one.(map[string]any)
					return reflect.DeepEqual(target["Arn"], s["Resource"]) ||
						reflect.DeepEqual(target["DeadLetterConfig"], map[string]any{"Arn": s["Resource"]})
				})
				if to != sources[rule] {
					t.Errorf("%s sends to %v, the policy of %v lets it send: %t", rule, targets, s["Resource"], sources[rule])
				}
				delete(sources, rule)
			}
			if len(sources) > 0 {
				t.Errorf("%s lets in what is no rule: %v", id, sources)
			}
		}
	}
	if grants != 4 {
		t.Errorf("%d grants in queue policies, want those of provision, interrupt, warnings and undelivered events", grants)
	}
}

// TestQueuesRefuseOthers checks that a queue refuses everybody whose role does not send to it by its
// own policy: rights on all queues of the account are not enough.
func TestQueuesRefuseOthers(t *testing.T) {
	const operators = "arn:aws:iam::123456789012:role/operators"
	template := chosen(t, map[string]any{"redriveRoles": operators})
	senders := map[string][]string{} // by queue
	for _, name := range functionNames() {
		id, role := functionRole(t, template, name)
		for _, s := range statements(t, role) {
			if s.sid != "Send" {
				continue
			}
			for _, queue := range references(s.resources) {
				senders[queue] = append(senders[queue], id)
			}
		}
	}
	for _, schedule := range template.ofType("AWS::Scheduler::Schedule") {
		target := schedule.Properties["Target"].(map[string]any)
		dead := references(target["DeadLetterConfig"].(map[string]any)["Arn"])[0]
		senders[dead] = append(senders[dead], references(target["RoleArn"])[0])
	}
	closed := 0
	for id, policy := range template.ofType("AWS::SQS::QueuePolicy") {
		queue := references(policy.Properties["Queues"])[0]
		for _, item := range policy.Properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			s := item.(map[string]any)
			if s["Sid"] != "Others" {
				continue
			}
			closed++
			when := s["Condition"].(map[string]any)
			if s["Effect"] != "Deny" || s["Action"] != "sqs:SendMessage" ||
				!reflect.DeepEqual(s["Principal"], map[string]any{"AWS": "*"}) ||
				!reflect.DeepEqual(references(s["Resource"]), []string{queue}) ||
				!reflect.DeepEqual(when["BoolIfExists"], map[string]any{"aws:PrincipalIsAWSService": "false"}) {
				t.Errorf("%s: %v", id, s)
			}
			excepted := when["ArnNotEquals"].(map[string]any)["aws:PrincipalArn"]
			got := references(excepted)
			slices.Sort(got)
			slices.Sort(senders[queue])
			if !slices.Equal(got, senders[queue]) {
				t.Errorf("%s excepts %v, want the roles that send there: %v", id, got, senders[queue])
			}
			texts, several := excepted.([]any)
			if !several {
				texts = []any{excepted}
			}
			if texts[0] != operators {
				t.Errorf("%s excepts %v, want %s too", id, excepted, operators)
			}
		}
	}
	// With the dead-letter queue, and that of undelivered events.
	if want := len(queueNames()) + 2; closed != want {
		t.Errorf("%d queues refuse others, want %d", closed, want)
	}
}

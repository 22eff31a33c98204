package infra

import (
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

const (
	// SQS hides a received message for visibilityFactor times the function's timeout. AWS
	// recommends this factor for queues that Lambda polls.
	// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
	visibilityFactor = 6
	// interruptVisibilityFactor is smaller: a spot warning whose function died must come back within
	// its two minutes. A message that comes back too early costs an invocation.
	interruptVisibilityFactor = 2
	// maximumReceives is the number of tries before a message goes to the dead-letter queue.
	maximumReceives = 5
	// interruptReceives is larger, because interrupt tries a failed message again after seconds, and
	// keeps messages during standby. A message that always fails is a dead letter after some 25
	// minutes.
	interruptReceives = 100

	// tickRetention is longer than maximumReceives tries of a message, which take half an hour. If
	// a function cannot start, its messages thus reach the dead-letter queue. Stale ticks cost
	// nothing: functions acknowledge them unread.
	tickRetention = time.Hour
	// eventRetention keeps dead letters and the events of EC2 and Health over a long weekend.
	eventRetention = 4 * 24 * time.Hour
)

// queueNames returns the queues that functions read.
func queueNames() []string {
	return []string{"provision", "lifecycle", "disrupt", "interrupt", "warnings"}
}

// queues holds a cluster's queues. The function of the same name reads each, and interrupt reads
// warnings.
type queues struct {
	provision, lifecycle, disrupt, interrupt, warnings awssqs.Queue
	// dead is their dead-letter queue. SQS knows the source of each message in it, and moves it back there.
	dead awssqs.Queue
	// undelivered has the events that EventBridge could not deliver. No function reads it.
	undelivered awssqs.Queue
}

// ofEvents returns the queues with events about instances.
func (q queues) ofEvents() []awssqs.Queue { return []awssqs.Queue{q.interrupt, q.warnings} }

func newQueues(c *cluster) queues {
	dead := newDead(c)
	wakeUps := queueProperties{
		visibility: visibilityFactor * workTimeout, receives: maximumReceives, retention: tickRetention,
	}
	ofEvents := queueProperties{
		visibility: interruptVisibilityFactor * interruptTimeout, receives: interruptReceives, retention: eventRetention,
	}
	made := queues{
		dead:      dead,
		provision: newQueue(c, "provision", "Provision", wakeUps, dead),
		lifecycle: newQueue(c, "lifecycle", "Lifecycle", wakeUps, dead),
		disrupt:   newQueue(c, "disrupt", "Disrupt", wakeUps, dead),
		interrupt: newQueue(c, "interrupt", "Interrupt", ofEvents, dead),
		warnings:  newQueue(c, "warnings", "Warnings", ofEvents, dead),
	}
	made.undelivered = newUndelivered(c)
	return made
}

// newUndelivered adds the queue of undelivered events. It has SQS's own key also where the others have
// the user's: a key that EventBridge may not use is a reason why events are not delivered.
func newUndelivered(c *cluster) awssqs.Queue {
	scope := constructs.NewConstruct(c.scope, jsii.String("UndeliveredQueue"))
	made := awssqs.NewQueue(scope, jsii.String("Queue"), &awssqs.QueueProps{
		QueueName:       c.physicalName("undelivered"),
		RetentionPeriod: seconds(eventRetention),
		Encryption:      awssqs.QueueEncryption_SQS_MANAGED,
		EnforceSSL:      jsii.Bool(true),
	})
	acknowledge(made, []acknowledgment{{ID: "AwsSolutions-SQS3", Reason: "it is the dead-letter queue of the rules"}})
	return made
}

// queueProperties holds the differences between queues.
type queueProperties struct {
	visibility, retention time.Duration
	receives              float64
}

// newDead adds the dead-letter queue. One queue for all costs one metric of the alarm in place of five.
func newDead(c *cluster) awssqs.Queue {
	scope := constructs.NewConstruct(c.scope, jsii.String("DeadQueue"))
	encryption, key := queueKey(c, scope)
	return awssqs.NewQueue(scope, jsii.String("Queue"), &awssqs.QueueProps{
		QueueName:           c.physicalName("dead"),
		RetentionPeriod:     seconds(eventRetention),
		Encryption:          encryption,
		EncryptionMasterKey: key,
		EnforceSSL:          jsii.Bool(true),
	})
}

// queueKey is SQS's own key or the user's.
func queueKey(c *cluster, scope constructs.Construct) (awssqs.QueueEncryption, awskms.IKey) {
	if given := c.configuration.kmsKey; given != "" {
		return awssqs.QueueEncryption_KMS, awskms.Key_FromKeyArn(scope, jsii.String("Key"), &given)
	}
	return awssqs.QueueEncryption_SQS_MANAGED, nil
}

// newQueue adds a queue. It is encrypted, and refuses plain HTTP.
func newQueue(c *cluster, name, id string, p queueProperties, dead awssqs.Queue) awssqs.Queue {
	scope := constructs.NewConstruct(c.scope, jsii.String(id+"Queue"))
	encryption, key := queueKey(c, scope)
	return awssqs.NewQueue(scope, jsii.String("Queue"), &awssqs.QueueProps{
		QueueName:           c.physicalName(name),
		VisibilityTimeout:   seconds(p.visibility),
		RetentionPeriod:     seconds(p.retention),
		Encryption:          encryption,
		EncryptionMasterKey: key,
		EnforceSSL:          jsii.Bool(true),
		DeadLetterQueue:     &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(p.receives)},
	})
}

// closeQueues refuses messages of everybody except AWS services, for which each queue's policy names
// the rules, and the roles of the functions that send there. An identity policy that allows sending
// to all queues of the account would otherwise be enough to end nodes by forged events. A condition
// of aws:PrincipalArn holds for all sessions of a role. Nobody sends to the dead-letter queue: SQS moves
// messages there itself, and a redrive would bring a forged one to the function. EventBridge and the roles
// of the schedules send to the queue of undelivered events.
func closeQueues(c *cluster, q queues, all functions, schedules []awsiam.Role) {
	for _, to := range []awssqs.Queue{
		q.provision, q.lifecycle, q.disrupt, q.interrupt, q.warnings, q.undelivered, q.dead,
	} {
		senders := jsii.Strings(c.configuration.redriveRoles...)
		for _, f := range all.all() {
			if slices.Contains(f.sends, to) {
				*senders = append(*senders, f.role.RoleArn())
			}
		}
		if to == q.undelivered {
			for _, role := range schedules {
				*senders = append(*senders, role.RoleArn())
			}
		}
		when := map[string]any{"BoolIfExists": map[string]any{"aws:PrincipalIsAWSService": "false"}}
		if len(*senders) > 0 {
			when["ArnNotEquals"] = map[string]any{"aws:PrincipalArn": *senders}
		}
		to.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Sid:        jsii.String("Others"),
			Effect:     awsiam.Effect_DENY,
			Principals: &[]awsiam.IPrincipal{awsiam.NewAnyPrincipal()},
			Actions:    jsii.Strings("sqs:SendMessage"),
			Resources:  &[]*string{to.QueueArn()},
			Conditions: &when,
		}))
	}
}

// seconds converts a duration of whole seconds.
func seconds(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}

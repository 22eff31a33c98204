// Package cloudwatch keeps the alarms that stacks make, and tells which of them ring by the lengths of queues: as much of
// CloudWatch as the local run needs. There are no metrics and no calls.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html
package cloudwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

// Service is the alarms of an account.
type Service struct {
	mu     sync.Mutex
	alarms map[string]alarm
}

// New makes a service without alarms.
func New() *Service { return &Service{alarms: map[string]alarm{}} }

// alarm rings while more messages than the threshold lie in the queues together.
type alarm struct {
	queues    []string
	threshold float64
}

// Ringing are the names of the alarms that ring, by the number of messages in a queue.
func (s *Service) Ringing(length func(queue string) (int, error)) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ringing []string
	var failed error
	for name, alarm := range s.alarms {
		sum := 0
		for _, queue := range alarm.queues {
			count, err := length(queue)
			failed = errors.Join(failed, err)
			sum += count
		}
		if float64(sum) > alarm.threshold {
			ringing = append(ringing, name)
		}
	}
	slices.Sort(ringing)
	return ringing, failed
}

// RegisterTypes lets stacks make alarms.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::CloudWatch::Alarm", alarmType{s})
}

type alarmType struct{ service *Service }

type alarmProperties struct {
	AlarmName          string
	AlarmDescription   string
	ActionsEnabled     bool
	AlarmActions       []string
	ComparisonOperator string
	EvaluationPeriods  int
	Threshold          float64
	TreatMissingData   string
	Metrics            []metricProperties
	Tags               []struct{ Key, Value string }
}

type metricProperties struct {
	ID         string `json:"Id"`
	Expression string
	Label      string
	ReturnData bool
	MetricStat *struct {
		Metric struct {
			Namespace, MetricName string
			Dimensions            []struct{ Name, Value string }
		}
		Period int
		Stat   string
	}
}

// sum is the one expression that is understood.
const sum = "SUM(FILL(METRICS(), 0))"

func (t alarmType) put(r cloudformation.Request, name string) (cloudformation.Result, error) {
	var p alarmProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if p.AlarmName != "" {
		name = p.AlarmName
	}
	made := alarm{threshold: p.Threshold}
	if p.ComparisonOperator != "GreaterThanThreshold" || p.EvaluationPeriods != 1 {
		return cloudformation.Result{}, fmt.Errorf("alarm %s: only GreaterThanThreshold in one period is simulated", name)
	}
	for _, metric := range p.Metrics {
		stat := metric.MetricStat
		switch {
		case stat == nil && metric.Expression == sum && metric.ReturnData:
		case stat != nil && stat.Metric.Namespace == "AWS/SQS" && stat.Metric.MetricName == "ApproximateNumberOfMessagesVisible" && len(stat.Metric.Dimensions) == 1:
			made.queues = append(made.queues, stat.Metric.Dimensions[0].Value)
		default:
			return cloudformation.Result{}, fmt.Errorf("alarm %s: metric %q: only the lengths of queues and %s are simulated", name, metric.ID, sum)
		}
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	t.service.alarms[name] = made
	return cloudformation.Result{PhysicalID: name}, nil
}

// Create makes the alarm.
func (t alarmType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, r.GeneratedName)
}

// Update changes the alarm; another name makes another.
func (t alarmType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, r.PhysicalID)
}

// Delete removes the alarm.
func (t alarmType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	delete(t.service.alarms, r.PhysicalID)
	return nil
}

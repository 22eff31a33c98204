package cloudwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// Service is the alarms and dashboards of an account.
type Service struct {
	// Lateness is set before the first alarm.
	Lateness Lateness
	// People is set before the first call.
	People People

	mu         sync.Mutex
	alarms     map[string]alarm
	dashboards map[string]string // bodies by name
}

// New makes a service with neither, and with AWS's usual lateness.
func New() *Service {
	return &Service{Lateness: UsualLateness(), alarms: map[string]alarm{}, dashboards: map[string]string{}}
}

// RegisterTypes registers alarms and dashboards with CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::CloudWatch::Alarm", alarmType{s})
	stacks.RegisterType("AWS::CloudWatch::Dashboard", dashboardType{s})
}

type alarmType struct{ service *Service }

type dimension struct{ Name, Value string }

// alarmProperties has the supported properties of an alarm. Any other fails the stack by name.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html
type alarmProperties struct {
	AlarmName          string
	AlarmDescription   string
	ActionsEnabled     bool
	AlarmActions       []string
	OKActions          []string
	ComparisonOperator string
	EvaluationPeriods  int
	DatapointsToAlarm  int
	Threshold          float64
	TreatMissingData   string
	Namespace          string
	MetricName         string
	Statistic          string
	Period             int
	Dimensions         []dimension
	Metrics            []queryProperties
	Tags               []struct{ Key, Value string }
}

type queryProperties struct {
	ID         string `json:"Id"`
	Expression string
	Label      string
	ReturnData bool
	MetricStat *struct {
		Metric struct {
			Namespace, MetricName string
			Dimensions            []dimension
		}
		Period int
		Stat   string
	}
}

// sum is the one expression that is understood.
const sum = "SUM(FILL(METRICS(), 0))"

func (p alarmProperties) alarm(name string) (alarm, error) {
	made := alarm{
		threshold: p.Threshold, comparison: p.ComparisonOperator, periods: p.EvaluationPeriods, due: p.DatapointsToAlarm,
		period: time.Duration(p.Period) * time.Second, missingBreaches: p.TreatMissingData == "breaching",
	}
	if made.due == 0 {
		made.due = made.periods
	}
	if p.MetricName != "" {
		made.metrics = []Metric{metricOf(p.Namespace, p.MetricName, p.Statistic, p.Dimensions)}
	}
	if err := made.addQueries(name, p.Metrics); err != nil {
		return alarm{}, err
	}
	return made, p.check(name, made)
}

// addQueries takes in the metrics of a sum.
func (a *alarm) addQueries(name string, queries []queryProperties) error {
	for _, query := range queries {
		switch stat := query.MetricStat; {
		case stat == nil && query.Expression == sum && query.ReturnData:
			a.filled = true
		case stat != nil && !query.ReturnData:
			a.metrics = append(a.metrics,
				metricOf(stat.Metric.Namespace, stat.Metric.MetricName, stat.Stat, stat.Metric.Dimensions))
			a.period = time.Duration(stat.Period) * time.Second
		default:
			return fmt.Errorf("alarm %s: query %q: only one metric, or %s of several, is simulated", name, query.ID,
				sum)
		}
	}
	return nil
}

// check refuses what the local CloudWatch does not simulate.
func (p alarmProperties) check(name string, made alarm) error {
	switch {
	case len(made.metrics) == 0 || len(made.metrics) > 1 && !made.filled:
		return fmt.Errorf("alarm %s: only one metric, or %s of several, is simulated", name, sum)
	case made.period <= 0 || made.periods < 1 || made.due > made.periods:
		return fmt.Errorf("alarm %s: %d of %d periods of %s cannot be looked at", name, made.due, made.periods,
			made.period)
	case p.ComparisonOperator != greater && p.ComparisonOperator != less:
		return fmt.Errorf("alarm %s: ComparisonOperator %q is not simulated; %s and %s are", name,
			p.ComparisonOperator, greater, less)
	case !slices.Contains([]string{"", "missing", "breaching", "notBreaching"}, p.TreatMissingData):
		return fmt.Errorf("alarm %s: TreatMissingData %q is not simulated", name, p.TreatMissingData)
	}
	for _, metric := range made.metrics {
		if !slices.Contains([]string{"Sum", "Maximum"}, metric.Statistic) {
			return fmt.Errorf("alarm %s: statistic %q of %s is not simulated; Sum and Maximum are", name,
				metric.Statistic, metric.Name)
		}
	}
	return nil
}

func metricOf(namespace, name, statistic string, dimensions []dimension) Metric {
	made := Metric{Namespace: namespace, Name: name, Statistic: statistic, Dimensions: map[string]string{}}
	for _, one := range dimensions {
		made.Dimensions[one.Name] = one.Value
	}
	return made
}

func (t alarmType) put(r cloudformation.Request, name string) (cloudformation.Result, error) {
	var p alarmProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if p.AlarmName != "" {
		name = p.AlarmName
	}
	made, err := p.alarm(name)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	t.service.alarms[name] = made
	return cloudformation.Result{
		PhysicalID: name, Attributes: map[string]any{"Arn": "arn:aws:cloudwatch:::alarm:" + name},
	}, nil
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

package cloudwatch

import (
	"errors"
	"slices"
	"time"
)

// Metric is one series, and how its values become one.
type Metric struct {
	Namespace, Name, Statistic string
	Dimensions                 map[string]string
}

// Source returns a metric's values between two times; none without data.
type Source func(metric Metric, from, to time.Time) ([]float64, error)

const greater, less = "GreaterThanThreshold", "LessThanThreshold"

// Lateness is how long after a period's end CloudWatch has the period's values, by namespace. AWS
// promises no time. SQS pushes its metrics each minute, and they are some minutes late. Lambda's and
// those that come from logs take about one.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
type Lateness map[string]time.Duration

// UsualLateness is the lateness of a service that New makes.
func UsualLateness() Lateness {
	return Lateness{"AWS/SQS": 2 * time.Minute, "AWS/Lambda": time.Minute, "Whittle": time.Minute}
}

// moreData is how many periods more than it evaluates an alarm on one metric looks at. It prefers their
// values to missing ones, so that values that are late do not count as missing.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
const moreData = 2

// alarm rings when its value breaches the threshold in enough of the last periods.
type alarm struct {
	metrics         []Metric
	filled          bool // the sum of the metrics, 0 where one has no data
	comparison      string
	threshold       float64
	period          time.Duration
	periods, due    int
	missingBreaches bool
}

// Ringing are the names of the alarms that ring at a time.
func (s *Service) Ringing(now time.Time, source Source) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	source = s.Lateness.late(now, source)
	var ringing []string
	var failed error
	for name, alarm := range s.alarms {
		rings, err := alarm.rings(now, source)
		failed = errors.Join(failed, err)
		if rings {
			ringing = append(ringing, name)
		}
	}
	slices.Sort(ringing)
	return ringing, failed
}

// rings evaluates the last periods. FILL gives the newest period a value even where its data is late,
// so that an alarm on a sum takes late values for 0.
func (a alarm) rings(now time.Time, source Source) (bool, error) {
	looked := a.periods
	if !a.filled {
		looked += moreData
	}
	var breached []bool
	for i := 0; i < looked && len(breached) < a.periods; i++ {
		to := now.Add(-time.Duration(i) * a.period)
		value, known, err := a.value(to.Add(-a.period), to, source)
		if err != nil {
			return false, err
		}
		if known {
			breached = append(breached,
				a.comparison == greater && value > a.threshold || a.comparison == less && value < a.threshold)
		}
	}
	breaches := 0
	if a.missingBreaches {
		breaches = a.periods - len(breached)
	}
	for _, breach := range breached {
		if breach {
			breaches++
		}
	}
	return breaches >= a.due, nil
}

func (a alarm) value(from, to time.Time, source Source) (value float64, known bool, err error) {
	for _, metric := range a.metrics {
		values, err := source(metric, from, to)
		if err != nil {
			return 0, false, err
		}
		if len(values) == 0 {
			continue
		}
		known = true
		if metric.Statistic == "Maximum" {
			value += slices.Max(values)
			continue
		}
		for _, one := range values {
			value += one
		}
	}
	return value, known || a.filled, nil
}

// late holds back the values of periods that a source has not delivered by now.
func (l Lateness) late(now time.Time, source Source) Source {
	return func(metric Metric, from, to time.Time) ([]float64, error) {
		values, err := source(metric, from, to)
		if to.Add(l[metric.Namespace]).After(now) {
			return nil, err
		}
		return values, err
	}
}

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

func (a alarm) rings(now time.Time, source Source) (bool, error) {
	breaches := 0
	for i := range a.periods {
		to := now.Add(-time.Duration(i) * a.period)
		value, known, err := a.value(to.Add(-a.period), to, source)
		if err != nil {
			return false, err
		}
		breached := a.missingBreaches
		if known {
			breached = a.comparison == greater && value > a.threshold || a.comparison == less && value < a.threshold
		}
		if breached {
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

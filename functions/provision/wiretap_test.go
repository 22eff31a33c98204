package provision

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// wiretap stands between the function and EC2. It keeps the requests and answers of CreateFleet. It
// can refuse calls as a throttling EC2 does, and cut the function off.
type wiretap struct {
	mutex  sync.Mutex
	fleets []fleetCall
	counts map[string]int // calls by action, refused ones too
	// limit, if set, is asked for each CreateFleet whether it may pass.
	limit func() bool
	// cutAfter ends the function right after so many answered CreateFleets; zero never.
	cutAfter int
	dead     bool
}

// fleetCall is a CreateFleet that was answered.
type fleetCall struct {
	sent, answered time.Time
	token          string
	wanted         string
	asked          map[string]bool // offerings: capacityType:type:zone
	answer         fleetAnswer
}

var errDead = errors.New("the process was killed")

type fleetAnswer struct {
	Errors []struct {
		Lifecycle string `xml:"lifecycle"`
		Code      string `xml:"errorCode"`
		Override  struct {
			InstanceType string `xml:"instanceType"`
			Zone         string `xml:"availabilityZone"`
		} `xml:"launchTemplateAndOverrides>overrides"`
	} `xml:"errorSet>item"`
}

const refusal = `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error>` +
	`<Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error></Errors>` +
	`<RequestID>0</RequestID></Response>`

func (w *wiretap) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		action, form, err := w.action(request)
		if err != nil {
			return nil, err
		}
		w.mutex.Lock()
		if w.dead {
			w.mutex.Unlock()
			return nil, errDead
		}
		if w.counts == nil {
			w.counts = map[string]int{}
		}
		w.counts[action]++
		refused := action == "CreateFleet" && w.limit != nil && !w.limit()
		w.mutex.Unlock()
		if refused {
			return &http.Response{
				StatusCode: http.StatusServiceUnavailable,
				Header:     http.Header{"Content-Type": {"text/xml"}},
				Request:    request,
				Body:       io.NopCloser(strings.NewReader(refusal)),
			}, nil
		}
		sent := time.Now()
		response, err := next.RoundTrip(request)
		if err != nil || action != "CreateFleet" || response.StatusCode != http.StatusOK {
			return response, err
		}
		if err := w.keep(sent, form, response); err != nil {
			return nil, err
		}
		return response, nil
	})
}

// action reads the name of the call, and of CreateFleet what it asks for.
func (w *wiretap) action(request *http.Request) (string, url.Values, error) {
	if request.Body == nil {
		return request.Method, nil, nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return "", nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("Action") == "" {
		return request.Header.Get("X-Amz-Target"), nil, nil
	}
	return form.Get("Action"), form, nil
}

func (w *wiretap) keep(sent time.Time, form url.Values, response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	call := fleetCall{
		sent:     sent,
		answered: time.Now(),
		token:    form.Get("ClientToken"),
		wanted:   form.Get("TargetCapacitySpecification.TotalTargetCapacity"),
		asked:    map[string]bool{},
	}
	if err := xml.Unmarshal(body, &call.answer); err != nil {
		return err
	}
	bought := form.Get("TargetCapacitySpecification.DefaultTargetCapacityType")
	for c := 1; form.Has(fmt.Sprintf("LaunchTemplateConfigs.%d.LaunchTemplateSpecification.Version", c)); c++ {
		for o := 1; ; o++ {
			prefix := fmt.Sprintf("LaunchTemplateConfigs.%d.Overrides.%d.", c, o)
			if !form.Has(prefix + "InstanceType") {
				break
			}
			call.asked[bought+":"+form.Get(prefix+"InstanceType")+":"+form.Get(prefix+"AvailabilityZone")] = true
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.fleets = append(w.fleets, call)
	if w.cutAfter > 0 && len(w.fleets) >= w.cutAfter {
		w.dead = true
		return errDead
	}
	return nil
}

// shortages are the offerings that EC2 reported as short, once for each period in which the report
// counts.
func (w *wiretap) shortages(lasts time.Duration) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	known := map[string]time.Time{}
	count := 0
	for _, call := range w.fleets {
		for _, failed := range call.answer.Errors {
			key := failed.Lifecycle + ":" + failed.Override.InstanceType + ":" + failed.Override.Zone
			if known[key].IsZero() || call.answered.Sub(known[key]) >= lasts {
				known[key] = call.answered
				count++
			}
		}
	}
	return count
}

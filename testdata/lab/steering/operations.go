package steering

import (
	"fmt"
	"net/http"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (s *Service) operations() []operation {
	return []operation{
		{"GET", "/local/{$}", "", "this page", s.explain},
		{"GET", "/local/instances", "", "all instances with their price an hour; ?state=running picks", s.instances},
		{"GET", "/local/instances/{id}/console", "", "what the machine wrote to its console", s.consoleOutput},
		{
			"POST", "/local/instances/{id}/interrupt", `{"after":"120s"}`,
			"warn of a spot reclaim, and reclaim after the time (120s if left out)", s.interrupt,
		},
		{"POST", "/local/instances/{id}/rebalance", "", "recommend to rebalance a spot instance", s.rebalance},
		{
			"POST", "/local/instances/{id}/retire", `{"in":"336h","code":"AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"}`,
			"announce, through AWS Health and the instance's status, that the hardware goes", s.retire,
		},
		{"POST", "/local/instances/{id}/stop", "", "stop the instance", s.stop},
		{"POST", "/local/instances/{id}/terminate", "", "terminate the instance behind its owner's back", s.terminate},
		{
			"POST", "/local/instances/{id}/kill", "", "let the hardware fail: the machine goes silent, EC2 calls it running",
			s.kill,
		},
		{
			"POST", "/local/instances/{id}/impair", `{"check":"system","since":"0s"}`,
			"let a status check of EC2 fail, system or instance, as if for a time already; the machine runs on", s.impair,
		},
		{"POST", "/local/instances/{id}/recover", "", "let the status checks pass again", s.recover},
		{"GET", "/local/capacity", "", "what is starved", s.capacity},
		{
			"POST", "/local/capacity/starve",
			`{"instanceType":"m5.*","zone":"us-east-1a","capacityType":"spot",` +
				`"code":"InsufficientInstanceCapacity","for":"10m"}`,
			"take room away, also by subnetId and with any code and message; patterns left out match all but capacity " +
				"reservations (capacityType reserved), without a time for good",
			s.starve,
		},
		{
			"POST", "/local/capacity/feed", `{"instanceType":"m5.*"}`,
			"end what was starved with these patterns, or all for an empty body", s.feed,
		},
		{
			"POST", "/local/chaos", `{"share":0.7,"seed":1,"period":"1m"}`,
			"let a share of all offerings be short at any moment, each changing once a period; share 0 ends it", s.chaos,
		},
		{"POST", "/local/chaos/pass", `{"time":"1m"}`, "let shortages change as if a time had passed", s.passChaos},
		{"GET", "/local/refusals", "", "the offerings that launches asked for and did not get", s.refusals},
		{"GET", "/local/capacity-reservations", "", "all capacity reservations with their counts", s.reservations},
		{
			"POST", "/local/capacity-reservations",
			`{"instanceType":"m5.large","zone":"us-east-1a","count":3,"match":"targeted","type":"default",` +
				`"interruptible":false,"end":"24h","tags":{}}`,
			"hold capacity: on demand, in a capacity block (type capacity-block) or interruptible", s.createReservation,
		},
		{
			"POST", "/local/capacity-reservations/{id}/resize", `{"count":5}`, "set how many instances fit", s.resizeReservation,
		},
		{
			"POST", "/local/capacity-reservations/{id}/cancel", "", "end a reservation; its instances run on as on-demand ones",
			s.cancelReservation,
		},
		{
			"POST", "/local/capacity-reservations/{id}/interrupt", `{"after":"120s"}`,
			"let the owner of an interruptible reservation take its capacity back", s.interruptReservation,
		},
		{
			"POST", "/local/failures", `{"action":"CreateFleet","code":"InternalError","times":1,"done":false,"for":"1m"}`,
			"make whole calls fail; done lets them do their work before the answer is lost; an empty code ends those of the " +
				"action",
			s.failCalls,
		},
		{"GET", "/local/rates", "", "the rates of calls that bind", s.rates},
		{
			"POST", "/local/rates", `{"rates":[{"action":"CreateFleet","perSecond":0.5,"burst":2}]}`,
			"bound calls by a bucket of tokens for each action; an empty list ends it, {\"ec2\":true} takes EC2's own",
			s.setRates,
		},
		{"GET", "/local/calls", "", "how often each action was called, throttled and failed", s.calls},
		{"POST", "/local/calls/reset", "", "begin to count anew", s.resetCalls},
		{"POST", "/local/limits", `{"spotInstances":10,"onDemandVCPUs":64}`, "set quotas; -1 or left out is none", s.limits},
		{
			"POST", "/local/throttle", `{"action":"DescribeInstances","rate":0.5,"for":"1m"}`,
			"refuse a share of an action's calls with RequestLimitExceeded; rate 0 ends it", s.throttle,
		},
		{"GET", "/local/timing", "", "how long things take", s.timing},
		{
			"POST", "/local/timing", `{"visibility":"2s","boot":"20s"}`,
			"set the time until DescribeInstances knows an instance, and until a kubelet starts", s.setTiming,
		},
		{
			"POST", "/local/images", `{"version":"1.36","release":"2026-11-20"}`,
			"release new images of all families, which become the recommended ones", s.publishImages,
		},
		{
			"POST", "/local/images/register",
			`{"name":"golden","family":"AL2023","architecture":"arm64","tags":{"team":"blue"}}`,
			"add an image of the account's own; without a family its machines go by what their user data looks like",
			s.registerImage,
		},
		{"POST", "/local/images/{id}/deprecate", "", "deprecate an image now", s.deprecateImage},
		{"POST", "/local/images/{id}/deregister", "", "take an image away", s.deregisterImage},
	}
}

type explanation struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Example string `json:"body,omitempty"`
	About   string `json:"about"`
}

func (s *Service) explain(*http.Request) (any, error) {
	var list []explanation
	for _, o := range s.operations() {
		path := o.path
		if path == "/local/{$}" {
			path = Prefix
		}
		list = append(list, explanation{o.method, path, o.body, o.about})
	}
	return map[string]any{
		"about": "This is a simulator of AWS on this machine: nothing here costs money. These paths steer it; " +
			"durations are written as 90s or 10m.",
		"operations": list,
	}, nil
}

type instanceJSON struct {
	ID           string            `json:"id"`
	State        ec2.State         `json:"state"`
	InstanceType string            `json:"instanceType"`
	Zone         string            `json:"zone"`
	CapacityType string            `json:"capacityType"`
	PricePerHour float64           `json:"pricePerHour"`
	Node         string            `json:"node"`
	Launched     time.Time         `json:"launched"`
	Reason       string            `json:"reason,omitempty"`
	Impaired     bool              `json:"impaired,omitempty"`
	Tags         map[string]string `json:"tags"`
}

func (s *Service) instances(r *http.Request) (any, error) {
	state := r.URL.Query().Get("state")
	list, total := []instanceJSON{}, 0.0
	for _, i := range s.ec2.Instances() {
		if state != "" && state != string(i.State) {
			continue
		}
		list = append(list, instanceJSON{
			i.ID, i.State, i.InstanceType, i.Zone, i.CapacityType, i.PricePerHour, i.PrivateDNSName, i.Launched, i.Reason,
			i.Impaired, i.Tags,
		})
		if i.State == ec2.Pending || i.State == ec2.Running { // billed states
			total += i.PricePerHour
		}
	}
	return map[string]any{"instances": list, "pricePerHour": total}, nil
}

func (s *Service) consoleOutput(r *http.Request) (any, error) {
	return map[string]string{"console": s.machines.ConsoleOutput(r.PathValue("id"))}, nil
}

func (s *Service) interrupt(r *http.Request) (any, error) {
	var in struct {
		After *duration `json:"after"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	return done(s.ec2.Interrupt(r.PathValue("id"), in.After.or(-1)))
}

func (s *Service) rebalance(r *http.Request) (any, error) {
	return done(s.ec2.Rebalance(r.PathValue("id")))
}

func (s *Service) retire(r *http.Request) (any, error) {
	var in struct {
		In   *duration `json:"in"`
		Code string    `json:"code"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	const usualNotice = 14 * 24 * time.Hour
	return done(s.ec2.Retire(r.PathValue("id"), in.Code, time.Now().Add(in.In.or(usualNotice))))
}

func (s *Service) stop(r *http.Request) (any, error) { return done(s.ec2.Stop(r.PathValue("id"))) }

func (s *Service) terminate(r *http.Request) (any, error) {
	return done(s.ec2.Terminate(r.PathValue("id")))
}

func (s *Service) kill(r *http.Request) (any, error) {
	id := r.PathValue("id")
	for _, check := range []ec2.Check{ec2.SystemCheck, ec2.InstanceCheck} {
		if err := s.ec2.Impair(id, check, 0); err != nil {
			return nil, err
		}
	}
	return done(s.machines.Kill(id))
}

func (s *Service) impair(r *http.Request) (any, error) {
	var in struct {
		Check ec2.Check `json:"check"`
		Since *duration `json:"since"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	return done(s.ec2.Impair(r.PathValue("id"), in.Check, in.Since.or(0)))
}

func (s *Service) recover(r *http.Request) (any, error) {
	return done(s.ec2.Recover(r.PathValue("id")))
}

func (s *Service) limits(r *http.Request) (any, error) {
	in := ec2.Limits{SpotInstances: -1, OnDemandVCPUs: -1}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	s.ec2.SetLimits(in)
	return done(nil)
}

func (s *Service) throttle(r *http.Request) (any, error) {
	in := struct {
		Action string    `json:"action"`
		Rate   float64   `json:"rate"`
		For    *duration `json:"for"`
	}{Rate: 1}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.Action == "" || in.Rate < 0 || in.Rate > 1 {
		return nil, fmt.Errorf(
			"action %q and rate %g: want an EC2 action, such as DescribeInstances or *, and a rate from 0 to 1", in.Action,
			in.Rate)
	}
	s.ec2.Throttle(in.Action, in.Rate, in.For.or(0))
	return done(nil)
}

func (s *Service) timing(*http.Request) (any, error) {
	instances, machines := s.ec2.Timing(), s.machines.Timing()
	return map[string]string{
		"pending": instances.Pending.String(), "shuttingDown": instances.ShuttingDown.String(),
		"stopping":       instances.Stopping.String(),
		"keepTerminated": instances.KeepTerminated.String(), "visibility": instances.Visibility.String(),
		"boot":      machines.Boot.String(),
		"nodeReady": machines.NodeReady.String(), "devices": machines.Devices.String(),
		"podStart": machines.PodStart.String(),
		"podStop":  machines.PodStop.String(), "nodeDeletion": machines.NodeDeletion.String(),
	}, nil
}

func (s *Service) setTiming(r *http.Request) (any, error) {
	var in struct {
		Visibility *duration `json:"visibility"`
		Boot       *duration `json:"boot"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.Visibility != nil {
		s.ec2.SetVisibility(in.Visibility.or(0))
	}
	if in.Boot != nil {
		s.machines.SetBootDelay(in.Boot.or(0))
	}
	return s.timing(r)
}

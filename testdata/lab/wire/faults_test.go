package wire

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// faultyCalls counts, of 200 calls, those that had an effect and those that were answered.
func faultyCalls(t *testing.T, f Faults, headers map[string]string) (effects, answers int) {
	t.Helper()
	server := started(t, HandlerFunc(func(context.Context, *Call) (*Response, error) {
		effects++
		return JSON(map[string]string{})
	}), "sqs")
	server.SetFaults(f)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 200 {
		request := signed(t, "sqs", http.MethodPost, server.URL()+"/", "{}", time.Now())
		request.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := client.Do(request)
		if err == nil {
			answers++
			_ = response.Body.Close()
		}
	}
	return effects, answers
}

func TestDroppedCallsHaveNoEffect(t *testing.T) {
	effects, answers := faultyCalls(t, Faults{Seed: 1, Dropped: 0.3}, nil)
	if effects != answers || effects == 200 || effects < 100 {
		t.Errorf("%d effects and %d answers of 200 calls, want equally many and most", effects, answers)
	}
}

func TestLostAnswersFollowTheirEffect(t *testing.T) {
	effects, answers := faultyCalls(t, Faults{Seed: 1, Lost: 0.3}, nil)
	if effects != 200 || answers == 200 || answers < 100 {
		t.Errorf("%d effects and %d answers of 200 calls, want 200 and most", effects, answers)
	}
}

func TestSomeCallsLoseTheAnswerOfEachRetry(t *testing.T) {
	effects, answers := faultyCalls(t, Faults{Seed: 1, Lost: 0.3}, map[string]string{invocationHeader: "one"})
	if effects != 200 || answers > 50 {
		t.Errorf("%d effects and %d answers of one call that is tried 200 times", effects, answers)
	}
}

func TestFaultsSpareSomeCalls(t *testing.T) {
	effects, answers := faultyCalls(t, Faults{Dropped: 1, Applies: func(*Call) bool { return false }}, nil)
	if effects != 200 || answers != 200 {
		t.Errorf("%d effects and %d answers of 200 calls", effects, answers)
	}
}

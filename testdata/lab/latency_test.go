package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCallsTakeTheTimeOfTheirKind(t *testing.T) {
	for _, test := range []struct {
		service, action string
		bytes           int
		want            time.Duration
	}{
		{"ec2", "CreateFleet", 4 << 20, 3 * time.Second},
		{"ec2", "DescribeInstances", 0, 150 * time.Millisecond},
		{"ec2", "DescribeInstances", 2 << 20, 150*time.Millisecond + 1024*time.Millisecond},
		{"ec2", "TerminateInstances", 1 << 20, 300 * time.Millisecond},
		{"eks", "DescribeCluster", 0, 150 * time.Millisecond},
		{"sqs", "SendMessage", 0, 8 * time.Millisecond},
		{"lambda", "Invoke", 0, 50 * time.Millisecond},
	} {
		if got := awsAnswer(test.service, test.action, test.bytes); got != test.want {
			t.Errorf("%s of %s with %d bytes takes %s, want %s", test.action, test.service, test.bytes, got, test.want)
		}
	}
}

// TestThePageHasTheTimesOfCalls compares the page of the cost with the times that the month is measured with.
func TestThePageHasTheTimesOfCalls(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "testdata", "peer", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), latencyTable()) {
		t.Errorf("testdata/peer/README.md lacks this table:\n%s", latencyTable())
	}
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// apiServerAnswer is how much longer the API server of EKS takes than the one of the same machine.
const apiServerAnswer = 8 * time.Millisecond

// callOverhead are the bytes of a call's headers and of its answer's, with TLS's.
const callOverhead = 2 << 10

// latency is how long some calls to AWS take inside of a region.
type latency struct {
	service string   // the name that a request is signed for
	actions []string // beginnings of names; none for all that no earlier row has
	answer  time.Duration
	// kilobyte is more time for each KB of the answer.
	kilobyte time.Duration
	// what names the calls, and source says where the time is from.
	what, source string
}

// latencies are those of a month, the first row that fits first. Lambda bills the time in which a function waits.
func latencies() []latency {
	return []latency{
		{
			"ec2", []string{"CreateFleet", "RunInstances"}, 3 * time.Second, 0, "CreateFleet",
			"assumed: the call returns when the instances exist",
		},
		{
			"ec2", []string{"Describe", "Get"}, 150 * time.Millisecond, 500 * time.Microsecond, "a page of EC2's lists",
			"assumed: as DescribeCluster, and half a second more for each MB",
		},
		{"ec2", nil, 300 * time.Millisecond, 0, "other calls of EC2", "assumed: twice as long as a list"},
		{
			"eks", nil, 150 * time.Millisecond, 0, "DescribeCluster",
			"[114 ms to 171 ms](https://github.com/aws/karpenter-provider-aws/issues/5302) in Karpenter's metrics",
		},
		{"iam", nil, 150 * time.Millisecond, 0, "IAM", "assumed: as DescribeCluster"},
		{"ssm", nil, 50 * time.Millisecond, 0, "SSM", "assumed"},
		{"pricing", nil, 200 * time.Millisecond, 500 * time.Microsecond, "a page of the price list", "assumed"},
		{"sqs", nil, 8 * time.Millisecond, 0, "SQS", "assumed: as an answer of the API server"},
		{"", nil, 50 * time.Millisecond, 0, "others, such as an invocation of the watch", "assumed"},
	}
}

// awsAnswer is how long a call takes whose answer has so many bytes.
func awsAnswer(service, action string, bytes int) time.Duration {
	for _, row := range latencies() {
		begins := func(beginning string) bool { return strings.HasPrefix(action, beginning) }
		if row.service != "" && row.service != service || row.actions != nil && !slices.ContainsFunc(row.actions, begins) {
			continue
		}
		return row.answer + row.kilobyte*time.Duration(bytes>>10)
	}
	return 0
}

// latencyTable documents the times in Markdown.
func latencyTable() string {
	var table strings.Builder
	table.WriteString("| call | takes | source |\n| --- | ---: | --- |\n")
	fmt.Fprintf(&table, "| a request to the API server | %s more | assumed |\n", spoken(apiServerAnswer))
	for _, row := range latencies() {
		takes := spoken(row.answer)
		if row.kilobyte > 0 {
			takes += fmt.Sprintf(", and %s for each MB", spoken(row.kilobyte*1000))
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", row.what, takes, row.source)
	}
	return table.String()
}

// spoken writes milliseconds, or seconds.
func spoken(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%g s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

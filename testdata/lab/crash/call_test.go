package crash

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCallNamesOmitGeneratedNames(t *testing.T) {
	for _, test := range []struct{ method, path, want string }{
		{"GET", "/api/v1/pods", "LIST pods"},
		{"POST", "/api/v1/namespaces/default/pods/web-1/eviction", "POST pods/eviction"},
		{"PATCH", "/apis/karpenter.sh/v1/nodeclaims/default-x7/status", "PATCH nodeclaims/status"},
		{"DELETE", "/api/v1/nodes/ip-10-0-0-1", "DELETE nodes"},
		{"GET", "/api/v1/namespaces/whittle-system/configmaps/whittle-catalog", "GET configmaps whittle-catalog"},
		{
			"PUT", "/apis/coordination.k8s.io/v1/namespaces/whittle-system/leases/whittle-provision",
			"PUT leases whittle-provision",
		},
		{"PATCH", "/api/v1/namespaces/whittle-system", "PATCH namespaces"},
	} {
		got, _, err := kubernetesRequest(httptest.NewRequest(test.method, test.path, http.NoBody))
		if err != nil || got.name != test.want {
			t.Errorf("%s %s is named %q, want %q (%v)", test.method, test.path, got.name, test.want, err)
		}
	}
	signed := func(method, path, service, body, target string) *http.Request {
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Header.Set("Authorization",
			"AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=00")
		request.Header.Set("X-Amz-Date", "20260101T000000Z")
		if target != "" {
			request.Header.Set("X-Amz-Target", target)
		}
		return request
	}
	for _, test := range []struct{ method, path, service, body, target, want string }{
		{"POST", "/", "ec2", "Action=CreateFleet&Version=1", "", "ec2:CreateFleet"},
		{"POST", "/", "ec2", "Action=RunInstances&DryRun=true", "", "ec2:RunInstances (dry run)"},
		{"POST", "/", "sqs", "{}", "AmazonSQS.SendMessageBatch", "sqs:SendMessageBatch"},
		{"GET", "/clusters/prod", "eks", "", "", "eks:GET clusters"},
	} {
		if got := awsRequest(signed(test.method, test.path, test.service, test.body, test.target),
			[]byte(test.body)); got.name != test.want {
			t.Errorf("%s %s of %s is named %q, want %q", test.method, test.path, test.service, got.name, test.want)
		}
	}
}

func TestCallsHaveTheKindOfTheirArguments(t *testing.T) {
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/pods?resourceVersion=0&limit=500", "", "cached"},
		{"GET", "/api/v1/pods?limit=500", "", ""},
		{"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dip-1&resourceVersion=", "", "spec.nodeName"},
		{
			"GET", "/apis/karpenter.sh/v1/nodeclaims?labelSelector=a.b%2Fc+in+%28i-1%2Ci-2%29%2C%21d&resourceVersion=0", "",
			"! d,cached,in a.b/c",
		},
		{
			"PATCH", "/api/v1/nodes/ip-1", `{"metadata":{"resourceVersion":"1","labels":{"a":"b"}},"spec":{"taints":[]}}`,
			"metadata.labels,spec.taints",
		},
		{"POST", "/api/v1/namespaces/default/pods/web-1/eviction", `{"metadata":{"name":"web-1"}}`, ""},
	} {
		got, _, err := kubernetesRequest(httptest.NewRequest(test.method, test.path, strings.NewReader(test.body)))
		if err != nil || got.kind != test.want {
			t.Errorf("%s %s %s has the kind %q, want %q (%v)", test.method, test.path, test.body, got.kind, test.want, err)
		}
	}
	for _, test := range []struct{ target, body, want string }{
		{"", "Action=DescribeInstances&Version=1&InstanceId.1=i-1&InstanceId.2=i-2", "InstanceId"},
		{
			"", "Action=DescribeInstances&Filter.1.Name=tag%3Aa&Filter.1.Value.1=b&Filter.2.Name=tag-key&MaxResults=1000",
			"MaxResults,tag-key,tag:a",
		},
		{"AmazonSQS.SendMessageBatch", `{"QueueUrl":"http://local/1/provision","Entries":[]}`, "provision"},
		{"AmazonSSM.GetParameter", `{"Name":"/aws/service/a"}`, "Name"},
	} {
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
		if test.target != "" {
			request.Header.Set("X-Amz-Target", test.target)
		}
		if got := awsRequest(request, []byte(test.body)); got.kind != test.want {
			t.Errorf("%s has the kind %q, want %q", test.body, got.kind, test.want)
		}
	}
}

func TestLedgerKillsOnceAtEachCall(t *testing.T) {
	l := newLedger("provision", []Kill{
		{Call: Call{1, "LIST pods", "cached", 2}, After: true}, {Call: Call{2, "LIST pods", "cached", 1}},
	})
	const begins = ""
	want := []struct {
		function, call string
		fate           fate
	}{
		{"provision", begins, lives},
		{"lifecycle", "LIST pods", lives}, // another function's
		{"provision", "LIST pods", lives},
		{"provision", "LIST nodes", lives},
		{"provision", "LIST pods, consistently", lives}, // another kind
		{"provision", "LIST pods", diesAfter},
		{"provision", "LIST pods", lives}, // a call of the killed process
		{"provision", begins, lives},      // its first invocation comes again
		{"provision", "LIST pods", lives},
		{"provision", "LIST pods", lives},
		{"provision", begins, lives},
		{"provision", "LIST pods", diesBefore},
		{"provision", begins, lives},
		{"provision", "LIST pods", lives},
	}
	for i, step := range want {
		if step.call == begins {
			l.begin(step.function)
		} else if got := l.note(step.function, cachedRequest(step.call)); got != step.fate {
			t.Errorf("call %d: fate %d, want %d", i, got, step.fate)
		}
	}
	l.close()
	if l.note("provision", cachedRequest("LIST pods")); len(l.made()) != 8 || len(l.deaths()) != 2 {
		t.Errorf("calls %v, deaths %v", l.made(), l.deaths())
	}
}

func cachedRequest(call string) request {
	name, _, consistent := strings.Cut(call, ",")
	if consistent {
		return request{name: name}
	}
	return request{name, "cached"}
}

func TestEachCallIsKilledTwice(t *testing.T) {
	for _, test := range []struct {
		name   string
		calls  []Call
		alone  bool
		trials int
	}{
		{"no call", nil, false, 0},
		{"one invocation of one call", []Call{{1, "POST a", "", 1}}, false, 2},
		{"one invocation", []Call{{1, "POST a", "", 1}, {1, "POST a", "", 2}, {1, "ec2:RunInstances", "", 1}}, false, 3},
		{
			"what only reads",
			[]Call{
				{1, "GET a", "", 1}, {1, "LIST a", "", 1}, {1, "ec2:DescribeInstances", "", 1},
				{1, "ec2:CreateFleet (dry run)", "", 1},
				{1, "eks:GET clusters", "", 1},
			},
			false, 3,
		},
		{
			"three invocations, one of which makes no call",
			[]Call{{1, "POST a", "", 1}, {1, "POST b", "", 1}, {3, "POST a", "", 1}}, false,
			3,
		},
		{"each by itself", []Call{{1, "GET a", "", 1}, {2, "GET b", "", 1}}, true, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			trials := grouped(test.calls, test.alone)
			if len(trials) != test.trials {
				t.Errorf("%d trials, want %d: %v", len(trials), test.trials, trials)
			}
			seen := map[Kill]int{}
			for _, kills := range trials {
				for _, kill := range kills {
					seen[kill]++
				}
			}
			for _, call := range test.calls {
				if seen[Kill{Call: call}] != 1 || seen[Kill{Call: call, After: true}] != 1 {
					t.Errorf("the kills at %v: %v", call, trials)
				}
			}
		})
	}
}

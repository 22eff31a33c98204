package crash

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCallsHaveNamesWithoutWhatIsMadeUpAnew(t *testing.T) {
	for _, test := range []struct{ method, path, want string }{
		{"GET", "/api/v1/pods", "LIST pods"},
		{"POST", "/api/v1/namespaces/default/pods/web-1/eviction", "POST pods/eviction"},
		{"PATCH", "/apis/karpenter.sh/v1/nodeclaims/default-x7/status", "PATCH nodeclaims/status"},
		{"DELETE", "/api/v1/nodes/ip-10-0-0-1", "DELETE nodes"},
		{"GET", "/api/v1/namespaces/whittle-system/configmaps/whittle-catalog", "GET configmaps whittle-catalog"},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/whittle-system/leases/whittle-provision", "PUT leases whittle-provision"},
		{"PATCH", "/api/v1/namespaces/whittle-system", "PATCH namespaces"},
	} {
		if got := kubernetesCall(httptest.NewRequest(test.method, test.path, http.NoBody)); got != test.want {
			t.Errorf("%s %s is named %q, want %q", test.method, test.path, got, test.want)
		}
	}
	signed := func(method, path, service, body, target string) *http.Request {
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=00")
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
		if got := awsCall(signed(test.method, test.path, test.service, test.body, test.target), []byte(test.body)); got != test.want {
			t.Errorf("%s %s of %s is named %q, want %q", test.method, test.path, test.service, got, test.want)
		}
	}
}

func TestALedgerKillsOnceAtTheCallThatItIsToldOf(t *testing.T) {
	l := newLedger("provision", &Kill{Call: Call{Name: "LIST pods", Nth: 2}, After: true})
	want := []struct {
		function, call string
		verdict        verdict
	}{
		{"lifecycle", "LIST pods", lives}, // another function's
		{"provision", "LIST pods", lives},
		{"provision", "LIST nodes", lives},
		{"provision", "LIST pods", diesAfter},
		{"provision", "LIST pods", lives}, // its next process
	}
	for i, step := range want {
		if got := l.note(step.function, step.call); got != step.verdict {
			t.Errorf("call %d: verdict %d, want %d", i, got, step.verdict)
		}
	}
	l.close()
	if l.note("provision", "LIST pods"); len(l.made()) != 4 || !l.dead() {
		t.Errorf("calls %v, dead %t", l.made(), l.dead())
	}
}

package fleet

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/whittle-dev/whittle/shared/api"
)

// In a VPC without a way to IAM each attempt costs seconds of the pass.
func TestIAMWithoutAnAnswerIsGivenUpSoon(t *testing.T) {
	var tries atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		tries.Add(1)
		panic(http.ErrAbortHandler) // cuts the connection
	}))
	defer server.Close()
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("A", "B", ""),
		Retryer: func() aws.Retryer { return retry.AddWithMaxAttempts(retry.NewStandard(), 5) },
	}
	class := &api.EC2NodeClass{}
	class.Spec.Role = "nodes"
	_, err := Profiles{IAM: NewIAM(config), Cluster: "prod", Region: "us-east-1"}.Ensure(t.Context(), class)
	if !IsUnanswered(err) {
		t.Errorf("error is %v", err)
	}
	if got := tries.Load(); got != iamAttempts {
		t.Errorf("IAM was tried %d times, want %d", got, iamAttempts)
	}
}

package eks

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// WebhookPath is where the token webhook is mounted. A cluster's API server asks at WebhookPath +
// "/" + the cluster's name; the bare path is for an account with one cluster.
const WebhookPath = "/token-webhook"

// maxReviewBytes bounds a review's size: a token is about 1.5 KiB.
const maxReviewBytes = 1 << 20

// tokenWebhook answers TokenReviews (authentication.k8s.io/v1). A refusal has its reason in
// status.error.
func (s *Service) tokenWebhook() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReviewBytes))
		if err != nil {
			http.Error(w, fmt.Sprintf("reading the review: %v", err), http.StatusBadRequest)
			return
		}
		review := authenticationv1.TokenReview{}
		if err := json.Unmarshal(body, &review); err != nil {
			http.Error(w, fmt.Sprintf("the body is not a TokenReview: %v", err), http.StatusBadRequest)
			return
		}
		if version := authenticationv1.SchemeGroupVersion.String(); review.APIVersion != version ||
			review.Kind != "TokenReview" {
			http.Error(w, fmt.Sprintf("the body is a %s %s: want %s TokenReview", review.APIVersion, review.Kind, version),
				http.StatusBadRequest)
			return
		}
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, WebhookPath), "/")
		answer := authenticationv1.TokenReview{
			TypeMeta: metav1.TypeMeta{APIVersion: review.APIVersion, Kind: review.Kind},
			Status:   s.review(review.Spec.Token, name),
		}
		w.Header().Set("Content-Type", "application/json")
		// This fails only if the client is gone.
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func (s *Service) review(token, clusterName string) authenticationv1.TokenReviewStatus {
	caller, u, err := s.authenticate(token, clusterName)
	if err != nil {
		return authenticationv1.TokenReviewStatus{Error: err.Error()}
	}
	return authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
		Username: u.name, Groups: u.groups, UID: "aws-iam-authenticator:" + caller.AccountID + ":" + caller.RoleARN,
		Extra: map[string]authenticationv1.ExtraValue{
			"arn": {caller.ARN}, "canonicalArn": {caller.RoleARN}, "sessionName": {caller.SessionName},
			"accessKeyId": {caller.AccessKeyID},
		},
	}}
}

func (s *Service) authenticate(token, clusterName string) (wire.Caller, user, error) {
	clusterName, err := s.asked(clusterName)
	if err != nil {
		return wire.Caller{}, user{}, err
	}
	caller, err := s.principal(token, clusterName)
	if err != nil {
		return wire.Caller{}, user{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.user(s.clusters[clusterName], caller)
	return caller, u, err
}

// asked returns the name of the cluster whose API server calls.
func (s *Service) asked(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clusters[name] != nil {
		return name, nil
	}
	if name == "" && len(s.clusters) == 1 {
		for only := range s.clusters {
			return only, nil
		}
	}
	return "", fmt.Errorf("the webhook was asked for cluster %q, which is not registered (%d are): ask at %s/CLUSTER",
		name, len(s.clusters), WebhookPath)
}

package kubernetes

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// tokenWebhook answers TokenReviews from a table and records the requests.
type tokenWebhook struct {
	*httptest.Server
	users map[string]authenticationv1.UserInfo

	mutex sync.Mutex
	asked map[string]int
}

func newTokenWebhook(t *testing.T, users map[string]authenticationv1.UserInfo) *tokenWebhook {
	webhook := &tokenWebhook{users: users, asked: map[string]int{}}
	webhook.Server = httptest.NewServer(webhook)
	t.Cleanup(webhook.Close)
	return webhook
}

func (w *tokenWebhook) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	if review.APIVersion != "authentication.k8s.io/v1" || review.Kind != "TokenReview" {
		http.Error(response, "not a TokenReview of v1", http.StatusBadRequest)
		return
	}
	w.mutex.Lock()
	w.asked[review.Spec.Token]++
	w.mutex.Unlock()
	user, known := w.users[review.Spec.Token]
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: user}
	response.Header().Set("Content-Type", "application/json")
	// An answer that cannot be sent shows as a refused token.
	_ = json.NewEncoder(response).Encode(review)
}

// times counts the webhook's requests about a token.
func (w *tokenWebhook) times(token string) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.asked[token]
}

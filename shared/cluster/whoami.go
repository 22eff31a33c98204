package cluster

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WhoAmI is the name by which the API server knows the caller. Kubernetes gives every user the
// right to ask.
func (c *Client) WhoAmI(ctx context.Context) (string, error) {
	review := authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{
		APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview",
	}}
	var answer authenticationv1.SelfSubjectReview
	err := c.writeJSON(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &review, &answer)
	return answer.Status.UserInfo.Username, err
}

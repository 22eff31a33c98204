package cluster_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// said is a server that answers every list with one body.
type said struct{ body string }

func (s *said) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(s.body)), Request: request,
	}, nil
}

// claimText is a NodeClaim in JSON with characters that a search for brackets could take for its
// end.
func claimText(random *rand.Rand, name int) string {
	labels := []string{`"a":"}]"`, `"b":"\"}"`, `"c":"\\"`, `"items":"[{}]"`, `"d":"é\u0041,"`}
	finalizers := []string{"", `,"finalizers":[]`, `,"finalizers":["karpenter.sh/termination", "x"]`}
	status := []string{"{}", `{"providerID":"aws:///a/i-1","capacity":{"cpu":"2"}}`,
		`{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`}
	blank := []string{"", " ", "\n\t "}[random.IntN(3)]
	return fmt.Sprintf(`{%s"metadata":{"name":"claim-%d","labels":{%s}%s,"managedFields":[{"manager":"x"}]},"status": %s}`,
		blank, name, labels[random.IntN(len(labels))], finalizers[random.IntN(len(finalizers))],
		status[random.IntN(len(status))])
}

// listText is a list of NodeClaims in JSON.
func listText(random *rand.Rand, most int) string {
	var items []string
	for name := range random.IntN(most) {
		if random.IntN(8) > 0 {
			items = append(items, claimText(rand.New(rand.NewPCG(uint64(name), random.Uint64N(2))), name))
		}
	}
	blank := []string{"", " ", "\n"}[random.IntN(3)]
	fields := []string{`"kind":"NodeClaimList"`, `"metadata":{"resourceVersion":"7","remainingItemCount":null}`,
		`"items":` + blank + `[` + blank + strings.Join(items, blank+","+blank) + blank + `]`}
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return blank + "{" + blank + strings.Join(fields, ","+blank) + blank + "}" + blank
}

// TestClaimsThatAreKnownAreReadAlike: whatever a cache knows of earlier lists, a list is what a
// client without a cache reads of the same bytes.
func TestClaimsThatAreKnownAreReadAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	server := &said{}
	cold, known := clientOf(t, server), warm(t, server, enough, time.Now)
	for n := range 400 {
		server.body = listText(random, []int{5, 30, 130}[n%3])
		if n%20 == 7 { // and what is no list
			server.body = server.body[:random.IntN(len(server.body))]
		}
		want, wrong := cold.NodeClaims(t.Context())
		got, err := known.NodeClaims(t.Context())
		if (err == nil) != (wrong == nil) || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("list %d of %q is %v (%v), want %v (%v)", n, server.body, got, err, want, wrong)
		}
	}
}

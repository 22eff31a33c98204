package clustertest

import "net/http"

// Consistent makes every read see what was written before it. A function reads
// from the API server's watch cache, which may lag by a moment; a test that
// writes and then runs a function would now and then check the lag.
func Consistent(next http.RoundTripper) http.RoundTripper {
	return consistent{next}
}

type consistent struct{ next http.RoundTripper }

// RoundTrip asks for the newest version where any would have done.
func (c consistent) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if query.Get("resourceVersion") != "0" {
		return c.next.RoundTrip(request)
	}
	query.Del("resourceVersion")
	request = request.Clone(request.Context())
	request.URL.RawQuery = query.Encode()
	return c.next.RoundTrip(request)
}

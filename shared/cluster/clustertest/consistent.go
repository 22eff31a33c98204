package clustertest

import "net/http"

// Consistent makes every read see what was written before it. A function reads from the API
// server's watch cache, which may be a moment old. Without Consistent a test that writes and then
// runs a function would sometimes fail for that.
func Consistent(next http.RoundTripper) http.RoundTripper {
	return consistent{next}
}

type consistent struct{ next http.RoundTripper }

// RoundTrip reads the newest version where any version was asked for.
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

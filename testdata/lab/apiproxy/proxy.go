package apiproxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy is an API server's second address, at which its watch cache lags. The caller closes it.
type Proxy struct {
	// URL is the address, and Authority is what clients trust it by, in PEM.
	URL       string
	Authority []byte

	lag    *Lag // for requests, which have their own credentials
	admin  *Lag // for the API server's version
	server *http.Server
	end    context.CancelFunc
	work   sync.WaitGroup
}

// Options are how the API server behaves at the proxy's address.
type Options struct {
	// Behind is how old its watch cache is; 0 for the present.
	Behind time.Duration
	// Answer is how much longer each answer takes, of a watch its beginning.
	Answer time.Duration
}

// Serve starts a proxy before the API server that admin describes. The API server may restart at its address
// meanwhile.
func Serve(admin *rest.Config, options Options) (*Proxy, error) {
	target, err := url.Parse(admin.Host)
	if err != nil {
		return nil, err
	}
	trusted, err := rest.TransportFor(admin)
	if err != nil {
		return nil, err
	}
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(admin))
	if err != nil {
		return nil, err
	}
	if options.Answer > 0 {
		anonymous = slow{anonymous, options.Answer}
	}
	certificate, err := NewCertificate()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		URL: "https://" + listener.Addr().String(), Authority: certificate.Authority, lag: NewLag(anonymous, target),
		admin: NewLag(trusted, target),
	}
	p.server = &http.Server{
		Handler: &httputil.ReverseProxy{
			Transport: p.lag, FlushInterval: -1, // watches send events at once
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
			// While the API server restarts, it gives no answer.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
			ErrorLog:     log.New(io.Discard, "", 0),
		},
		ReadHeaderTimeout: time.Minute, TLSConfig: certificate.TLS(), ErrorLog: log.New(io.Discard, "", 0),
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	p.work.Go(func() { _ = p.server.ServeTLS(listener, "", "") }) // ends with ErrServerClosed
	if options.Behind > 0 {
		p.work.Go(func() { p.follow(ctx, options.Behind) })
	}
	return p, nil
}

// slow is a transport whose answers take longer.
type slow struct {
	next   http.RoundTripper
	answer time.Duration
}

// RoundTrip waits before it passes the request on. Its errors are those of the next transport, or the
// request's context's.
func (s slow) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.answer):
		return s.next.RoundTrip(request)
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

// Answered returns how many reads were answered with an earlier version.
func (p *Proxy) Answered() int { return p.lag.Answered() }

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	p.end()
	err := p.server.Close()
	p.work.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stamped is a version of the cluster and when it was the present one.
type stamped struct {
	at      time.Time
	version string
}

// follow moves what the watch cache shows, until the context ends.
func (p *Proxy) follow(ctx context.Context, behind time.Duration) {
	tick := time.NewTicker(max(behind/10, 10*time.Millisecond))
	defer tick.Stop()
	var versions []stamped
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		at := time.Now()
		version, err := p.admin.Present(ctx)
		if err != nil {
			continue // the API server is restarting
		}
		versions = append(versions, stamped{at, version})
		for len(versions) > 1 && at.Sub(versions[1].at) >= behind {
			versions = versions[1:]
		}
		p.lag.Show(versions[0].version)
	}
}

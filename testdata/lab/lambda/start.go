package lambda

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// startPatience bounds how long a bootstrap may take to ask for its first invocation.
const startPatience = 30 * time.Second

// TimeToNext starts a bootstrap with a whole processor and gives the time until it asks for its
// first invocation. The process is ended then.
func TimeToNext(ctx context.Context, bootstrap string) (time.Duration, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	asked := make(chan time.Time, 1)
	server := &http.Server{ReadHeaderTimeout: startPatience,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/invocation/next") {
				select {
				case asked <- time.Now():
				default:
				}
			}
			<-r.Context().Done() // there is no invocation
		})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()

	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	command := exec.CommandContext(ctx, bootstrap)
	// Settings without which a function refuses to start; nothing is sent to any of these places.
	command.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=none",
		"AWS_SECRET_ACCESS_KEY=none",
		"CLUSTER_NAME=none", "TICK_INTERVAL=10s", "CATALOG_FUNCTION=none",
		"PROVISION_QUEUE_URL=http://127.0.0.1/p", "LIFECYCLE_QUEUE_URL=http://127.0.0.1/l",
		"DISRUPT_QUEUE_URL=http://127.0.0.1/d", "INTERRUPT_QUEUE_URL=http://127.0.0.1/123456789012/i",
		"WARNINGS_QUEUE_URL=http://127.0.0.1/123456789012/w",
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case at := <-asked:
		cancel()
		<-ended
		return at.Sub(began), nil
	case err := <-ended:
		return 0, errors.Join(errors.New("it ended before it asked for an invocation"), err)
	}
}

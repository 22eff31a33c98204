package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// lifetime returns a context that ends with SIGTERM or SIGINT and, with watchInput, when standard
// input ends. The parent holds the other end of that pipe and never writes. The kernel closes the
// pipe however the parent dies, so no control plane is left behind. Linux's parent-death signal
// would not do: it follows the thread that started the process, and Go ends threads at any time.
func lifetime(parent context.Context, watchInput bool) (context.Context, context.CancelFunc) {
	ctx, cancel := signal.NotifyContext(parent, syscall.SIGTERM, os.Interrupt)
	if watchInput {
		go func() {
			// The parent no longer holds the pipe, whether the input ended or failed.
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	return ctx, cancel
}

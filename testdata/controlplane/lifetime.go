package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// lifetime gives a context that ends with SIGTERM or SIGINT and, if watchInput, when standard input
// ends. The parent holds the other end of that pipe and never writes: the kernel closes it however
// the parent dies, SIGKILL included, so that no control plane is left behind. Linux's parent-death
// signal would not do: it follows the thread that started the process, and Go ends threads at will.
func lifetime(parent context.Context, watchInput bool) (context.Context, context.CancelFunc) {
	ctx, cancel := signal.NotifyContext(parent, syscall.SIGTERM, os.Interrupt)
	if watchInput {
		go func() {
			// How the input ended does not matter: either way nobody holds this process any more.
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	return ctx, cancel
}

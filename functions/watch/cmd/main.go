// Command cmd serves the function watch to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/watch"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := watch.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

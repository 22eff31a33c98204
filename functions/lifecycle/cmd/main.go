// Command cmd serves the function lifecycle to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/lifecycle"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := lifecycle.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

// Command cmd serves the function interrupt to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/interrupt"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := interrupt.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

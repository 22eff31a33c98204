// Command cmd serves the function disrupt to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/disrupt"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := disrupt.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

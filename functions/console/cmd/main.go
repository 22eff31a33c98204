// Command cmd serves the function console to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/console"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := console.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

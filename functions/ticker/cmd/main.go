// Command cmd serves the function ticker to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/ticker"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := ticker.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

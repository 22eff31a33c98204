// Command cmd serves the function catalog to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/catalog"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := catalog.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

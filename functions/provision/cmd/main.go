// Command cmd serves the function provision to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/provision"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := provision.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

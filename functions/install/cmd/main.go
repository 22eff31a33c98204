// Command cmd serves the function install to Lambda.
package main

import (
	"context"

	"github.com/whittle-dev/whittle/functions/install"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := install.New(context.Background(), function.Deps{})
	function.Run(handler.Handle, err)
}

// Package releases shows people how far the releases of NodePools are. It judges them as disrupt
// does, by what disrupt remembers of them. `whittle release`, `status`, `explain` and the widget
// need it.
package releases

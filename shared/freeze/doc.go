// Package freeze has the orders by which people stop what Whittle begins by itself, in the whole
// cluster or in one NodePool. People who change what a freeze stops, or how it is written down,
// need it.
//
// A freeze is one key of the ConfigMap whittle-control: freeze for the whole cluster, and
// freeze.NAME for a NodePool. Its value has a field a line, so that kubectl edit is enough to write
// it.
//
// CloudWatch alarms freeze, too. Provision writes their states as one more key, and Read makes a
// freeze of each alarm that rings.
//
// Its place: `whittle freeze` writes the keys. Package inventory reads them, and package api has
// them on NodePools. Functions read them once more just before an effect. The package is pure.
//
// Invariants:
//   - A value that cannot be read freezes disruption until somebody mends it. A node that stays too long costs
//     some dollars. A node that goes against a person's order costs what the order was to save.
//   - Such a value holds launches and drains only where its own line for them can be read: pods that wait are
//     the greater harm.
//   - Several freezes hold side by side. Each ends by itself.
//   - Alarms that nobody has read for some minutes freeze the whole cluster: any of them may ring.
package freeze

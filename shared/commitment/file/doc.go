// Package file reads an organization's commitments from a file: the answers of the APIs that know them,
// as the AWS command line prints them. Accounts without the right to ask share it.
//
// Its place: infra reads the file when it synthesizes, and carries it packed to functions/catalog, which
// unpacks it in place of asking. It is a deciding package.
//
// Invariants:
//   - An error names the answer, the entry and the field. A file that is not whole is refused.
//   - The packed text is bounded, so that it fits beside a function's other settings.
package file

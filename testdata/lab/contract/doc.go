// Package contract observes small facts about AWS that Whittle rests on. It runs the same code
// against the local AWS and against an account.
//
// Each fact creates what it needs, says what it saw, and belongs to an assumption of the ledger in
// testdata/lab/README.md. Everything has the prefix whittle-contract and is deleted at the end,
// also after a failure. https://docs.aws.amazon.com/general/latest/gr/api-retries.html
package contract

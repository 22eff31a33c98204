package ec2

import (
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// tokenUse remembers the first call that came with a client token.
type tokenUse struct {
	parameters [sha256.Size]byte
	result     any
	used       time.Time
}

// tokenLife is EC2's minimum life of client tokens.
const tokenLife = 24 * time.Hour

// maxTokenLength is EC2's limit; tokens are case-sensitive ASCII.
const maxTokenLength = 64

// once makes a call idempotent by its client token. The same token with the same parameters returns
// the first call's result and does nothing. Other parameters are an error. A call that failed as a
// whole leaves the token free. It is called with the lock held, so that of two simultaneous calls
// one sees the other's result.
func (s *Service) once(c *wire.Call, token string, do func() (any, error)) (any, error) {
	if token == "" {
		return do()
	}
	if len(token) > maxTokenLength {
		return nil, invalidValue(token, "ClientToken", "It is longer than 64 characters.")
	}
	for i := range len(token) {
		if token[i] < 0x20 || token[i] > 0x7e {
			return nil, invalidValue(token, "ClientToken", "It has a character that is not printable ASCII.")
		}
	}
	// Tokens belong to one action and one account.
	key := c.Action + " " + token
	parameters := fingerprint(c)
	if use, ok := s.tokens[key]; ok && time.Since(use.used) < tokenLife {
		if use.parameters != parameters {
			return nil, refuse(codeIdempotentParameterMismatch,
				"The client token %s was used before with other parameters: use a new token, or the same parameters", token)
		}
		if made, is := use.result.(*createFleetResult); is && s.silentRepeats {
			return &createFleetResult{FleetID: made.FleetID}, nil
		}
		return use.result, nil
	}
	result, err := do()
	if err != nil {
		return nil, err
	}
	s.tokens[key] = &tokenUse{parameters: parameters, result: result, used: time.Now()}
	return result, nil
}

// ForgetTokens makes every used client token count as new. A repeated call then acts once more, which
// is worse than what EC2 documents.
func (s *Service) ForgetTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// SilenceRepeats makes the answer to a repeated CreateFleet name the fleet only. EC2 promises that
// the repetition does nothing, and not that its answer lists the instances again.
func (s *Service) SilenceRepeats(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silentRepeats = silent
}

// fingerprint identifies a call's parameters, whatever their order.
func fingerprint(c *wire.Call) [sha256.Size]byte {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.Form)) {
		for _, value := range c.Form[name] {
			hash.Write([]byte(name))
			hash.Write([]byte{0})
			hash.Write([]byte(value))
			hash.Write([]byte{0})
		}
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

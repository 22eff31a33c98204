package launching

import "sync"

// Tokens are the client tokens of claims that this pass wrote. Until EC2 is asked with one, no
// instance can have been launched for its claims. The zero value has none. It is safe for
// concurrent use.
type Tokens struct {
	mutex  sync.Mutex
	tokens map[string]bool
}

func (t *Tokens) add(token string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.tokens == nil {
		t.tokens = map[string]bool{}
	}
	t.tokens[token] = true
}

func (t *Tokens) has(token string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.tokens[token]
}

// remove notes that EC2 is asked with the token.
func (t *Tokens) remove(token string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.tokens, token)
}

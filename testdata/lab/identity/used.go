package identity

import (
	"maps"
	"slices"
	"sync"
)

// use is an action of a role's policy, by the statement that allows it.
type use struct{ role, policy, sid, action string }

// uses remembers which rights were ever needed.
type uses struct {
	mu  sync.Mutex
	set map[use]bool
}

func (u *uses) note(one use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.set == nil {
		u.set = map[use]bool{}
	}
	u.set[one] = true
}

// Right is an action that a statement of a role's own policies allows.
type Right struct {
	// Sid is the statement's, and may be empty; Action may have wildcards.
	Sid, Action string
	// Used reports whether the statement has allowed a call or another check.
	Used bool
}

// Rights are those of a role's inline policies; none for a role that does not exist.
func (s *Service) Rights(roleName string) []Right {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roles[roleName]
	if r == nil {
		return nil
	}
	s.used.mu.Lock()
	defer s.used.mu.Unlock()
	var rights []Right
	for _, name := range slices.Sorted(maps.Keys(r.inline)) {
		for _, statement := range r.inline[name].Statements {
			if statement.Effect != "Allow" {
				continue
			}
			for _, action := range statement.Action {
				rights = append(rights, Right{
					Sid: statement.Sid, Action: action, Used: s.used.set[use{r.name, name, statement.Sid, action}],
				})
			}
		}
	}
	return rights
}

package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// faultRule says what goes wrong with which requests. It is set and read as JSON.
type faultRule struct {
	// Which requests; what is left out matches everything.
	Method    string `json:"method,omitempty"`    // GET, PATCH, ...
	Path      string `json:"path,omitempty"`      // regular expression over the URL's path
	Query     string `json:"query,omitempty"`     // regular expression over the URL's raw query
	UserAgent string `json:"userAgent,omitempty"` // regular expression over the header
	Watch     *bool  `json:"watch,omitempty"`     // only watches, or only other requests
	Event     string `json:"event,omitempty"`     // regular expression over one event of a watch, for stall and delayEvents

	Skip  int `json:"skip,omitempty"`  // so many matches pass unharmed first
	Times int `json:"times,omitempty"` // so many matches are harmed at most; 0 means until the rule is removed

	// What happens to them.
	Delay       int    `json:"delay,omitempty"`       // milliseconds before the request is passed on
	DelayAnswer int    `json:"delayAnswer,omitempty"` // milliseconds before the answer is passed back
	Hold        string `json:"hold,omitempty"`        // "request" or "answer": as delay, but until the rule is removed
	Cut         string `json:"cut,omitempty"`         // "request", "answer", "body" or "open": see faultProxyUsage
	Status      int    `json:"status,omitempty"`      // answer with this HTTP status instead of passing on
	RetryAfter  int    `json:"retryAfter,omitempty"`  // seconds, the header that goes with status 429
	Stall       bool   `json:"stall,omitempty"`       // events of watches are held back until the rule is removed
	DelayEvents int    `json:"delayEvents,omitempty"` // milliseconds by which events of watches come later
}

// activeRule is a rule while it is set.
type activeRule struct {
	faultRule
	name      string
	path      *regexp.Regexp
	query     *regexp.Regexp
	userAgent *regexp.Regexp
	event     *regexp.Regexp
	seen      int           // matches so far, harmed or not
	hits      int           // matches harmed
	removed   chan struct{} // closed when the rule is gone
}

// concernsEvents says whether a rule is about the events of watches and not about whole requests.
func (r *faultRule) concernsEvents() bool {
	return r.Stall || r.DelayEvents > 0
}

// validate refuses rules that would do nothing or contradict themselves.
func (r *faultRule) validate() error {
	switch r.Cut {
	case "", "request", "answer", "body", "open":
	default:
		return fmt.Errorf(`cut: %q is none of "request", "answer", "body", "open"`, r.Cut)
	}
	switch r.Hold {
	case "", "request", "answer":
	default:
		return fmt.Errorf(`hold: %q is neither "request" nor "answer"`, r.Hold)
	}
	if r.Status != 0 && (r.Status < 400 || r.Status > 599) {
		return fmt.Errorf("status: %d is no error", r.Status)
	}
	if r.Skip < 0 || r.Times < 0 || r.Delay < 0 || r.DelayAnswer < 0 || r.DelayEvents < 0 || r.RetryAfter < 0 {
		return errors.New("numbers cannot be negative")
	}
	requests := r.Delay > 0 || r.DelayAnswer > 0 || r.Hold != "" || r.Cut != "" || r.Status != 0
	if requests == r.concernsEvents() {
		return errors.New("a rule needs an action, and either one for requests (delay, delayAnswer, hold, cut, status) or one for events (stall, delayEvents)")
	}
	if r.Event != "" && !r.concernsEvents() {
		return errors.New("event: only rules with stall or delayEvents look at events")
	}
	return nil
}

// compile prepares a rule for matching.
func (r *faultRule) compile(name string) (*activeRule, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	active := &activeRule{faultRule: *r, name: name, removed: make(chan struct{})}
	for _, each := range []struct {
		source string
		target **regexp.Regexp
	}{{r.Path, &active.path}, {r.Query, &active.query}, {r.UserAgent, &active.userAgent}, {r.Event, &active.event}} {
		if each.source == "" {
			continue
		}
		compiled, err := regexp.Compile(each.source)
		if err != nil {
			return nil, err
		}
		*each.target = compiled
	}
	return active, nil
}

// matches says whether a rule is about a request.
func (r *activeRule) matches(request *http.Request) bool {
	return (r.Method == "" || r.Method == request.Method) &&
		(r.Watch == nil || *r.Watch == isWatch(request)) &&
		(r.path == nil || r.path.MatchString(request.URL.Path)) &&
		(r.query == nil || r.query.MatchString(request.URL.RawQuery)) &&
		(r.userAgent == nil || r.userAgent.MatchString(request.UserAgent()))
}

// isWatch says whether the answer to a request is a stream of events.
func isWatch(request *http.Request) bool {
	value := request.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

// ruleSet is the rules in force, in the order in which they were first set.
type ruleSet struct {
	mutex   sync.Mutex
	rules   []*activeRule
	changed chan struct{} // closed and replaced at each hit and each change
}

func newRuleSet() *ruleSet {
	return &ruleSet{changed: make(chan struct{})}
}

// announce wakes those who wait for hits; the lock is held.
func (s *ruleSet) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// set adds a rule, or replaces the one of that name, starting its counts anew.
func (s *ruleSet) set(rule *activeRule) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	defer s.announce()
	for index, old := range s.rules {
		if old.name == rule.name {
			close(old.removed)
			s.rules[index] = rule
			return
		}
	}
	s.rules = append(s.rules, rule)
}

// remove takes away the rules that a condition names, and lets go what they held.
func (s *ruleSet) remove(condition func(name string) bool) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	defer s.announce()
	var kept []*activeRule
	for _, rule := range s.rules {
		if condition(rule.name) {
			close(rule.removed)
		} else {
			kept = append(kept, rule)
		}
	}
	count := len(s.rules) - len(kept)
	s.rules = kept
	return count
}

// claim counts a match of every rule that the condition names, and returns those that do harm this time.
func (s *ruleSet) claim(condition func(rule *activeRule) bool) []*activeRule {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var claimed []*activeRule
	for _, rule := range s.rules {
		if (rule.Times > 0 && rule.hits >= rule.Times) || !condition(rule) {
			continue
		}
		rule.seen++
		if rule.seen > rule.Skip {
			rule.hits++
			claimed = append(claimed, rule)
		}
	}
	if len(claimed) > 0 {
		s.announce()
	}
	return claimed
}

// claimRequest claims the rules that harm a whole request.
func (s *ruleSet) claimRequest(request *http.Request) []*activeRule {
	return s.claim(func(rule *activeRule) bool {
		return !rule.concernsEvents() && rule.Cut != "open" && rule.matches(request)
	})
}

// claimEvent claims the rules that harm one event of a watch.
func (s *ruleSet) claimEvent(request *http.Request, event []byte) []*activeRule {
	return s.claim(func(rule *activeRule) bool {
		return rule.concernsEvents() && rule.matches(request) && (rule.event == nil || rule.event.Match(event))
	})
}

// ruleState is a rule as the control address shows it.
type ruleState struct {
	Name string    `json:"name"`
	Hits int       `json:"hits"` // requests or events harmed so far
	Rule faultRule `json:"rule"`
}

// list returns all rules.
func (s *ruleSet) list() []ruleState {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	states := make([]ruleState, 0, len(s.rules))
	for _, rule := range s.rules {
		states = append(states, ruleState{rule.name, rule.hits, rule.faultRule})
	}
	return states
}

// waitForHits returns a rule's state once it has so many hits; found is false when there is no such rule
// (any more), and reached is false when the time is up.
func (s *ruleSet) waitForHits(name string, hits int, timeout time.Duration) (current ruleState, found, reached bool) {
	deadline := time.After(timeout)
	for {
		s.mutex.Lock()
		changed := s.changed
		found = false
		for _, rule := range s.rules {
			if rule.name == name {
				current, found = ruleState{rule.name, rule.hits, rule.faultRule}, true
			}
		}
		s.mutex.Unlock()
		if !found || current.Hits >= hits {
			return current, found, found
		}
		select {
		case <-changed:
		case <-deadline:
			return current, true, false
		}
	}
}

package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// eventStream is the body of a watch's answer on its way to the client. A goroutine reads events as they
// come, so that the API server is never held up, and the client's side hands them out when the rules let it.
type eventStream struct {
	proxy      *faultProxy
	request    *http.Request
	upstream   io.ReadCloser
	events     chan streamedEvent
	closed     chan struct{} // closed when the client is gone or the stream is cut
	closeOnce  sync.Once
	cutAtFirst bool
	delivered  int
	rest       []byte // of the event that is being read
}

// streamedEvent is one event with what the rules do to it; the last one of a stream carries only an error.
type streamedEvent struct {
	content []byte
	notPast time.Time     // not handed out before
	holds   []*activeRule // not handed out while one of these is set
	err     error
}

// openStream puts a watch's answer under the control of the rules.
func (p *faultProxy) openStream(answer *http.Response, cutAtFirst bool) io.ReadCloser {
	stream := &eventStream{
		proxy:      p,
		request:    answer.Request,
		upstream:   answer.Body,
		events:     make(chan streamedEvent, 1<<16),
		closed:     make(chan struct{}),
		cutAtFirst: cutAtFirst,
	}
	p.mutex.Lock()
	p.streams[stream] = struct{}{}
	p.mutex.Unlock()
	go stream.receive(strings.Contains(answer.Header.Get("Content-Type"), "json"))
	return stream
}

// receive reads until the API server ends the stream or the client is gone. Events in JSON stand on a
// line each; of other encodings, what arrives together counts as one event.
func (s *eventStream) receive(lines bool) {
	reader := bufio.NewReaderSize(s.upstream, 1<<16)
	for {
		var content []byte
		var err error
		if lines {
			content, err = reader.ReadBytes('\n')
		} else {
			buffer := make([]byte, 1<<16)
			var count int
			count, err = reader.Read(buffer)
			content = buffer[:count]
		}
		if len(content) > 0 {
			if !s.enqueue(s.judge(content)) {
				return
			}
		}
		if err != nil {
			s.enqueue(streamedEvent{err: err})
			return
		}
	}
}

// judge asks the rules what happens to an event.
func (s *eventStream) judge(content []byte) streamedEvent {
	event := streamedEvent{content: content}
	for _, rule := range s.proxy.rules.claimEvent(s.request, content) {
		if rule.Stall {
			event.holds = append(event.holds, rule)
		}
		if rule.DelayEvents > 0 {
			event.notPast = time.Now().Add(time.Duration(rule.DelayEvents) * time.Millisecond)
		}
	}
	return event
}

func (s *eventStream) enqueue(event streamedEvent) bool {
	select {
	case s.events <- event:
		return true
	case <-s.closed:
		return false
	}
}

// Read hands out the next event once it may be; it is called by the one goroutine that answers the client.
func (s *eventStream) Read(buffer []byte) (int, error) {
	if len(s.rest) == 0 {
		if s.cutAtFirst && s.delivered > 0 {
			return 0, errCut
		}
		event, err := s.next()
		if err != nil {
			return 0, err
		}
		s.rest = event.content
		s.delivered++
	}
	count := copy(buffer, s.rest)
	s.rest = s.rest[count:]
	return count, nil
}

func (s *eventStream) next() (streamedEvent, error) {
	var event streamedEvent
	select {
	case event = <-s.events:
	case <-s.closed:
		return event, errCut
	}
	for _, rule := range event.holds {
		select {
		case <-rule.removed:
		case <-s.closed:
			return event, errCut
		}
	}
	select {
	case <-time.After(time.Until(event.notPast)):
	case <-s.closed:
		return event, errCut
	}
	return event, event.err
}

// cut ends the stream as a broken connection would.
func (s *eventStream) cut() {
	s.closeOnce.Do(func() { close(s.closed) })
}

// Close is called when the client is gone.
func (s *eventStream) Close() error {
	s.cut()
	s.proxy.mutex.Lock()
	delete(s.proxy.streams, s)
	s.proxy.mutex.Unlock()
	return s.upstream.Close()
}

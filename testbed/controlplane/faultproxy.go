package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// faultProxyUsage explains the subcommand.
const faultProxyUsage = `usage: control-plane fault-proxy --kubeconfig FILE --write-kubeconfig FILE [--listen 127.0.0.1:0] [--plain]

Passes requests on to the API server of FILE, except for what the rules that are set at run time do to
them. Clients use the kubeconfig that it writes; their credentials are passed on. Speaks TLS with a
certificate of its own, or with --plain HTTP.
Prints one line of JSON: {"ready": true, "url": ..., "kubeconfig": ..., "control": "http://..."}.

The control address:
  PUT    /rules/NAME                       sets a rule (JSON), or replaces it
  GET    /rules                            all rules with their hits
  GET    /rules/NAME?hits=N&timeout=MS     answers once the rule has N hits (408 when the time is up)
  DELETE /rules/NAME, DELETE /rules        removes one or all, letting go what they held

A rule names requests: method, path, query, userAgent (regular expressions), watch (true or false); how
many: skip, times; and what happens:
  delay, delayAnswer   milliseconds before the request is passed on, before the answer is passed back
  hold                 "request" or "answer": the same, until the rule is removed
  cut                  closes the connection: "request" before passing on; "answer" once the API server has
                       answered, so that the work is done and the client does not know; "body" after half
                       of the answer, for a watch after its first event; "open" at once, for the matching
                       watches that are open now
  status, retryAfter   answers with that status (and the header Retry-After) without passing on
  stall                holds back the events of watches, open ones too, until the rule is removed
  delayEvents          milliseconds by which such events come later; their order is kept
With "event" (regular expression over one event's JSON) stall and delayEvents start with such an event.
Ends on SIGTERM, SIGINT, SIGHUP and when standard input ends.`

// faultProxy passes requests on, or not.
type faultProxy struct {
	rules   *ruleSet
	forward *httputil.ReverseProxy

	mutex   sync.Mutex
	streams map[*eventStream]struct{} // the watches that are open
}

// errCut makes the proxy close the client's connection.
var errCut = errors.New("cut by a rule")

// claimedRules is the key under which a request's context carries the rules that harm it.
type claimedRules struct{}

// runFaultProxy is the subcommand fault-proxy.
func runFaultProxy(arguments []string) int {
	if err := faultProxyMain(arguments); err != nil {
		fmt.Fprintln(os.Stderr, "fault-proxy:", err)
		return 1
	}
	return 0
}

func faultProxyMain(arguments []string) error {
	flags := flag.NewFlagSet("fault-proxy", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, faultProxyUsage) }
	kubeconfig := flags.String("kubeconfig", "", "")
	written := flags.String("write-kubeconfig", "", "")
	address := flags.String("listen", "127.0.0.1:0", "")
	plain := flags.Bool("plain", false, "")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *kubeconfig == "" || *written == "" || flags.NArg() > 0 {
		flags.Usage()
		return errors.New("--kubeconfig and --write-kubeconfig are needed, and nothing but options is taken")
	}
	upstream, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	proxy, err := newFaultProxy(upstream)
	if err != nil {
		return err
	}
	listener, err := listenLoopback(*address)
	if err != nil {
		return err
	}
	control, err := listenLoopback("127.0.0.1:0")
	if err != nil {
		return err
	}
	server := "http://" + listener.Addr().String()
	var authority []byte
	if !*plain {
		server = "https://" + listener.Addr().String()
		serving, err := newServingCertificate("fault-proxy")
		if err != nil {
			return err
		}
		pair, err := tls.X509KeyPair(serving.certificate, serving.key)
		if err != nil {
			return err
		}
		authority = serving.authority
		listener = withTLS(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	if err := writeKubeconfig(*written, server, authority, upstream.BearerToken); err != nil {
		return err
	}
	stop := stopRequests(true)
	line, err := json.Marshal(map[string]any{
		"ready": true, "url": server, "kubeconfig": *written, "control": "http://" + control.Addr().String(),
	})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return serveUntilStopped(stop, map[net.Listener]*http.Server{
		listener: {Handler: proxy},
		control:  {Handler: http.HandlerFunc(proxy.serveControl)},
	})
}

func newFaultProxy(upstream *rest.Config) (*faultProxy, error) {
	target, err := url.Parse(upstream.Host)
	if err != nil {
		return nil, err
	}
	secure, err := rest.TLSConfigFor(upstream)
	if err != nil {
		return nil, err
	}
	proxy := &faultProxy{rules: newRuleSet(), streams: map[*eventStream]struct{}{}}
	proxy.forward = &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.Out.Host = target.Host
		},
		// HTTP/1.1 keeps the streams apart: what happens to one never holds up another.
		Transport:      &http.Transport{TLSClientConfig: secure, DisableCompression: true, MaxIdleConnsPerHost: 1000},
		FlushInterval:  -1,
		ModifyResponse: proxy.changeAnswer,
		ErrorHandler:   passOnError,
	}
	return proxy, nil
}

// passOnError closes the client's connection where a rule or the client wants it so, and otherwise says
// that the API server could not be asked.
func passOnError(writer http.ResponseWriter, request *http.Request, err error) {
	if errors.Is(err, errCut) || request.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	http.Error(writer, err.Error(), http.StatusBadGateway)
}

// ServeHTTP does to a request what the rules say, and passes it on.
func (p *faultProxy) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	claimed := p.rules.claimRequest(request)
	for _, rule := range claimed {
		pause(request.Context(), rule, rule.Delay, rule.Hold == "request")
	}
	for _, rule := range claimed {
		if rule.Cut == "request" {
			panic(http.ErrAbortHandler)
		}
		if rule.Status != 0 {
			answerStatus(writer, rule)
			return
		}
	}
	p.forward.ServeHTTP(writer, request.WithContext(context.WithValue(request.Context(), claimedRules{}, claimed)))
}

// pause waits as a rule says; a client that goes away ends it.
func pause(ctx context.Context, rule *activeRule, milliseconds int, hold bool) {
	if milliseconds > 0 {
		select {
		case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if hold {
		select {
		case <-rule.removed:
		case <-ctx.Done():
		}
	}
}

// answerStatus answers as the API server words an error.
func answerStatus(writer http.ResponseWriter, rule *activeRule) {
	reason := "InternalError"
	switch rule.Status {
	case http.StatusTooManyRequests:
		reason = "TooManyRequests"
	case http.StatusServiceUnavailable:
		reason = "ServiceUnavailable"
	case http.StatusConflict:
		reason = "Conflict"
	case http.StatusForbidden:
		reason = "Forbidden"
	case http.StatusNotFound:
		reason = "NotFound"
	case http.StatusGatewayTimeout:
		reason = "Timeout"
	}
	status := map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"message": "injected by rule " + rule.name, "reason": reason, "code": rule.Status,
	}
	if rule.RetryAfter > 0 {
		writer.Header().Set("Retry-After", strconv.Itoa(rule.RetryAfter))
		status["details"] = map[string]any{"retryAfterSeconds": rule.RetryAfter}
	}
	writeJSON(writer, rule.Status, status)
}

// changeAnswer does to an answer what the rules say, and puts the events of a watch under their control.
func (p *faultProxy) changeAnswer(answer *http.Response) error {
	request := answer.Request
	claimed, _ := request.Context().Value(claimedRules{}).([]*activeRule)
	cutBody := false
	for _, rule := range claimed {
		if rule.Cut == "answer" {
			// The work is done only once the whole answer is here.
			_, _ = io.Copy(io.Discard, answer.Body)
		}
		pause(request.Context(), rule, rule.DelayAnswer, rule.Hold == "answer")
		if rule.Cut == "answer" {
			return errCut
		}
		cutBody = cutBody || rule.Cut == "body"
	}
	switch {
	case isWatch(request) && answer.StatusCode == http.StatusOK:
		answer.Body = p.openStream(answer, cutBody)
	case cutBody:
		content, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		answer.Body.Close()
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content[:len(content)/2]), failingReader{}))
	}
	return nil
}

// failingReader is a connection that was cut.
type failingReader struct{}

func (failingReader) Read([]byte) (int, error) {
	return 0, errCut
}

// serveControl sets, shows and removes rules.
func (p *faultProxy) serveControl(writer http.ResponseWriter, request *http.Request) {
	name, single := strings.CutPrefix(request.URL.Path, "/rules/")
	if !single && request.URL.Path != "/rules" || single && name == "" {
		http.NotFound(writer, request)
		return
	}
	switch {
	case request.Method == http.MethodGet && !single:
		writeJSON(writer, http.StatusOK, p.rules.list())
	case request.Method == http.MethodGet:
		p.answerHits(writer, request, name)
	case request.Method == http.MethodDelete:
		count := p.rules.remove(func(each string) bool { return !single || each == name })
		writeJSON(writer, http.StatusOK, map[string]int{"removed": count})
	case request.Method == http.MethodPut && single:
		p.setRule(writer, request, name)
	default:
		http.Error(writer, "method not allowed", http.StatusMethodNotAllowed)
	}
}

func (p *faultProxy) answerHits(writer http.ResponseWriter, request *http.Request, name string) {
	hits, _ := strconv.Atoi(request.URL.Query().Get("hits"))
	timeout, _ := strconv.Atoi(request.URL.Query().Get("timeout"))
	current, found, reached := p.rules.waitForHits(name, hits, time.Duration(timeout)*time.Millisecond)
	switch {
	case !found:
		http.NotFound(writer, request)
	case !reached:
		writeJSON(writer, http.StatusRequestTimeout, current)
	default:
		writeJSON(writer, http.StatusOK, current)
	}
}

func (p *faultProxy) setRule(writer http.ResponseWriter, request *http.Request, name string) {
	decoder := json.NewDecoder(http.MaxBytesReader(writer, request.Body, 1<<20))
	decoder.DisallowUnknownFields()
	var rule faultRule
	if err := decoder.Decode(&rule); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	active, err := rule.compile(name)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	p.rules.set(active)
	if active.Cut == "open" {
		p.cutOpenStreams(active)
	}
	writeJSON(writer, http.StatusOK, ruleState{Name: name, Hits: p.hitsOf(name), Rule: rule})
}

func (p *faultProxy) hitsOf(name string) int {
	current, _, _ := p.rules.waitForHits(name, 0, 0)
	return current.Hits
}

// cutOpenStreams closes the watches that are open now and that a rule is about.
func (p *faultProxy) cutOpenStreams(rule *activeRule) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for stream := range p.streams {
		if !rule.matches(stream.request) {
			continue
		}
		claimed := p.rules.claim(func(each *activeRule) bool { return each == rule })
		if len(claimed) > 0 {
			stream.cut()
		}
	}
}

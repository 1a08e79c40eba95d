package main

import (
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// gitServerUsage explains the subcommand.
const gitServerUsage = `usage: control-plane git-server --root DIR [--listen 127.0.0.1:0] [--user U --password P] [--bearer TOKEN]
                                [--tls-cert FILE --tls-key FILE [--client-ca FILE]]

Serves the Git repositories below DIR over smart HTTP (protocol versions 0, 1 and 2; fetch and push), with
git's own http-backend. With --user or --bearer, requests without one of the given credentials get 401.
With --client-ca, clients must show a certificate from that authority.
Prints one line of JSON: {"ready": true, "url": "http://...", "control": "http://..."}.
GET control/_requests lists how often what was asked: [{"repository", "operation", "count"}] with operation
refs (the first request of any fetch, push or ls-remote), ls-refs (the list of refs in protocol 2), fetch
(objects), push, denied (no or wrong credentials), or other. DELETE control/_requests starts over.
Ends on SIGTERM, SIGINT, SIGHUP and when standard input ends.`

// maximumBody bounds what a client may send in one request: pushes of tests are far smaller.
const maximumBody = 1 << 30

// gitServer serves repositories and counts the requests.
type gitServer struct {
	backend        cgi.Handler
	user, password string
	bearer         string

	mutex    sync.Mutex
	requests map[gitRequest]int
}

// gitRequest is what requests are counted by.
type gitRequest struct {
	repository string
	operation  string
}

// runGitServer is the subcommand git-server.
func runGitServer(arguments []string) int {
	if err := gitServerMain(arguments); err != nil {
		fmt.Fprintln(os.Stderr, "git-server:", err)
		return 1
	}
	return 0
}

func gitServerMain(arguments []string) error {
	flags := flag.NewFlagSet("git-server", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, gitServerUsage) }
	root := flags.String("root", "", "")
	address := flags.String("listen", "127.0.0.1:0", "")
	user := flags.String("user", "", "")
	password := flags.String("password", "", "")
	bearer := flags.String("bearer", "", "")
	certificate := flags.String("tls-cert", "", "")
	key := flags.String("tls-key", "", "")
	clientAuthority := flags.String("client-ca", "", "")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *root == "" || flags.NArg() > 0 {
		flags.Usage()
		return errors.New("--root is needed, and nothing but options is taken")
	}
	directory, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return err
	}
	server := &gitServer{
		backend:  newGitBackend(git, directory),
		user:     *user,
		password: *password,
		bearer:   *bearer,
		requests: map[gitRequest]int{},
	}

	listener, err := listenLoopback(*address)
	if err != nil {
		return err
	}
	control, err := listenLoopback("127.0.0.1:0")
	if err != nil {
		return err
	}
	scheme := "http"
	bound := listener.Addr().String()
	if *certificate != "" {
		scheme = "https"
		configuration, err := gitTLS(*certificate, *key, *clientAuthority)
		if err != nil {
			return err
		}
		listener = withTLS(listener, configuration)
	}
	stop := stopRequests(true)
	line, err := json.Marshal(map[string]any{
		"ready": true, "url": scheme + "://" + bound, "control": "http://" + control.Addr().String(),
	})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return serveUntilStopped(stop, map[net.Listener]*http.Server{
		listener: {Handler: server},
		control:  {Handler: http.HandlerFunc(server.serveControl)},
	})
}

// newGitBackend sets git's CGI program up so that neither the machine's nor the user's configuration plays in.
func newGitBackend(git, root string) cgi.Handler {
	configuration := [][2]string{
		{"http.receivepack", "true"},
		{"safe.directory", "*"},
		{"uploadpack.allowFilter", "true"},
		{"uploadpack.allowReachableSHA1InWant", "true"},
	}
	environment := []string{
		"GIT_PROJECT_ROOT=" + root,
		"GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(configuration)),
	}
	for index, pair := range configuration {
		environment = append(environment, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", index, pair[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", index, pair[1]))
	}
	return cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: root, Env: environment, InheritEnv: []string{"PATH"}, Stderr: os.Stderr}
}

// gitTLS reads the server's certificate and, if given, the authority whose clients alone are let in.
func gitTLS(certificate, key, clientAuthority string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	configuration := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clientAuthority != "" {
		content, err := os.ReadFile(clientAuthority)
		if err != nil {
			return nil, err
		}
		configuration.ClientCAs = x509.NewCertPool()
		if !configuration.ClientCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("%s holds no certificate", clientAuthority)
		}
		configuration.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return configuration, nil
}

// ServeHTTP counts a request, checks its credentials and hands it to git.
func (s *gitServer) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	repository, _ := splitGitPath(request.URL.Path)
	if !s.permits(request) {
		s.count(gitRequest{repository, "denied"})
		writer.Header().Set("WWW-Authenticate", `Basic realm="testbed"`)
		http.Error(writer, "credentials are missing or wrong", http.StatusUnauthorized)
		return
	}
	// CGI wants to know the length of a body beforehand; git sends big packs without.
	body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, maximumBody))
	if err != nil {
		http.Error(writer, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	s.count(gitRequest{repository, gitOperation(request, body)})
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	request.TransferEncoding = nil
	backend := s.backend
	if protocol := request.Header.Get("Git-Protocol"); protocol != "" {
		backend.Env = append(append([]string{}, backend.Env...), "GIT_PROTOCOL="+protocol)
	}
	backend.ServeHTTP(writer, request)
}

// permits checks the credentials, taking the same time for every wrong one.
func (s *gitServer) permits(request *http.Request) bool {
	if s.user == "" && s.bearer == "" {
		return true
	}
	if user, password, given := request.BasicAuth(); given && s.user != "" {
		return subtle.ConstantTimeCompare([]byte(user), []byte(s.user))&
			subtle.ConstantTimeCompare([]byte(password), []byte(s.password)) == 1
	}
	token, given := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	return given && s.bearer != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.bearer)) == 1
}

// splitGitPath splits a request's path into the repository's and what is asked of it.
func splitGitPath(path string) (repository, service string) {
	for _, service := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack"} {
		if repository, found := strings.CutSuffix(path, service); found {
			return strings.Trim(repository, "/"), service
		}
	}
	return strings.Trim(path, "/"), ""
}

// gitOperation tells listing refs from fetching objects: in protocol 2 both go to the same path.
func gitOperation(request *http.Request, body []byte) string {
	switch _, service := splitGitPath(request.URL.Path); service {
	case "/info/refs":
		return "refs"
	case "/git-receive-pack":
		return "push"
	case "/git-upload-pack":
		if request.Header.Get("Content-Encoding") == "gzip" {
			if unzip, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, _ = io.ReadAll(io.LimitReader(unzip, 64))
			}
		}
		// A packet's first four bytes are its length.
		if len(body) > 4 && bytes.HasPrefix(body[4:], []byte("command=ls-refs")) {
			return "ls-refs"
		}
		return "fetch"
	default:
		return "other"
	}
}

func (s *gitServer) count(request gitRequest) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests[request]++
}

// serveControl answers on the address that is not counted and needs no credentials.
func (s *gitServer) serveControl(writer http.ResponseWriter, request *http.Request) {
	if request.URL.Path != "/_requests" {
		http.NotFound(writer, request)
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if request.Method == http.MethodDelete {
		s.requests = map[gitRequest]int{}
	}
	type counted struct {
		Repository string `json:"repository"`
		Operation  string `json:"operation"`
		Count      int    `json:"count"`
	}
	answer := make([]counted, 0, len(s.requests))
	for request, count := range s.requests {
		answer = append(answer, counted{request.repository, request.operation, count})
	}
	sort.Slice(answer, func(i, j int) bool {
		if answer[i].Repository != answer[j].Repository {
			return answer[i].Repository < answer[j].Repository
		}
		return answer[i].Operation < answer[j].Operation
	})
	writeJSON(writer, http.StatusOK, answer)
}

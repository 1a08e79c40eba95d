package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// layout names the files of one control plane; all lie in the directory given to `up`.
type layout struct {
	dir string
}

func (l layout) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

func (l layout) kubeconfig() string      { return l.path("kubeconfig") }
func (l layout) state() string           { return l.path("state.json") }
func (l layout) auditLog() string        { return l.path("audit.log") }
func (l layout) auditPolicy() string     { return l.path("private", "audit-policy.yaml") }
func (l layout) authority() string       { return l.path("private", "ca.crt") }
func (l layout) certificate() string     { return l.path("private", "apiserver.crt") }
func (l layout) certificateKey() string  { return l.path("private", "apiserver.key") }
func (l layout) tokenKey() string        { return l.path("private", "tokens.key") }
func (l layout) tokenPublicKey() string  { return l.path("private", "tokens.pub") }
func (l layout) tokens() string          { return l.path("private", "tokens.csv") }
func (l layout) etcd() string            { return l.path("etcd") }
func (l layout) log(name string) string  { return l.path("logs", name+".log") }
func (l layout) user(name string) string { return l.path("private", name+".kubeconfig") }

// identity is a user of the API server with a token of its own, so that the audit log and RBAC can tell
// who asked.
type identity struct {
	user   string
	groups string // comma-separated
	token  string
}

// The users of a control plane. Everything that a test starts is "admin" unless it impersonates.
const (
	adminUser             = "admin"
	kwokUser              = "kwok"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
)

// newIdentities makes the users with fresh tokens.
func newIdentities() (map[string]identity, error) {
	identities := map[string]identity{}
	for user, groups := range map[string]string{
		adminUser:             "system:masters",
		kwokUser:              "system:masters",
		controllerManagerUser: "",
		schedulerUser:         "",
	} {
		token, err := newToken()
		if err != nil {
			return nil, err
		}
		identities[user] = identity{user: user, groups: groups, token: token}
	}
	return identities, nil
}

// auditPolicy records every request once it is answered (a watch also when it starts), with who, what and
// the result, but no bodies. What the control plane's own parts do among themselves is left out.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "kwok"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
`

// prepare fills a fresh directory with keys, certificates, tokens and the audit policy.
func (l layout) prepare(identities map[string]identity) error {
	for _, dir := range []string{l.path(), l.path("private"), l.path("logs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	serving, err := newServingCertificate("kube-apiserver")
	if err != nil {
		return err
	}
	private, public, err := newSigningKey()
	if err != nil {
		return err
	}
	var tokens []byte
	for _, identity := range identities {
		line := identity.token + "," + identity.user + "," + identity.user
		if identity.groups != "" {
			line += `,"` + identity.groups + `"`
		}
		tokens = append(tokens, line+"\n"...)
	}
	for path, content := range map[string][]byte{
		l.authority():      serving.authority,
		l.certificate():    serving.certificate,
		l.certificateKey(): serving.key,
		l.tokenKey():       private,
		l.tokenPublicKey(): public,
		l.tokens():         tokens,
		l.auditPolicy():    []byte(auditPolicy),
	} {
		if err := writePrivate(path, content); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig writes a kubeconfig with one cluster, one user and one context, all named after the
// test bed. The authority is embedded, so the file can be moved.
func writeKubeconfig(path, server string, authority []byte, token string) error {
	cluster := map[string]any{"server": server}
	if authority != nil {
		cluster["certificate-authority-data"] = authority
	}
	content, err := json.MarshalIndent(map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"clusters":        []any{map[string]any{"name": "testbed", "cluster": cluster}},
		"users":           []any{map[string]any{"name": "testbed", "user": map[string]any{"token": token}}},
		"contexts":        []any{map[string]any{"name": "testbed", "context": map[string]any{"cluster": "testbed", "user": "testbed"}}},
		"current-context": "testbed",
	}, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(path, append(content, '\n'))
}

// processState is one process in state.json.
type processState struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	Port int    `json:"port,omitempty"`
	Log  string `json:"log"`
}

// state is what state.json says about a running control plane, and what `up` prints once it is ready.
type state struct {
	Ready      bool           `json:"ready"`
	Dir        string         `json:"dir"`
	PID        int            `json:"pid"` // of the supervisor: SIGTERM to it ends everything
	Server     string         `json:"server"`
	Kubeconfig string         `json:"kubeconfig"`
	Token      string         `json:"token"`
	AuditLog   string         `json:"auditLog,omitempty"` // empty when not asked for
	Processes  []processState `json:"processes"`
	Seconds    float64        `json:"seconds"` // from start to ready
}

// write stores the state by rename, so that a reader never sees half of it.
func (s *state) write(path string) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := writePrivate(path+".new", append(content, '\n')); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

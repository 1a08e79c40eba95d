package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"sort"

	"github.com/fluxcd/pkg/ssh/knownhosts"
	"golang.org/x/crypto/ssh"
	upstream "golang.org/x/crypto/ssh/knownhosts"
)

func init() {
	commands["known-hosts"] = judgeHostKeys
	commands["ssh-keys"] = readPrivateKeys
}

// hostKeyCase asks whether a host that shows a key is known. Byte slices are base64 in JSON.
type hostKeyCase struct {
	KnownHosts []byte `json:"knownHosts"`
	Address    string `json:"address"`
	Key        []byte `json:"key"`
}

// hostKeyVerdict is "ok", "unknown", "mismatch", "revoked", "bad key", "bad known hosts" or an error's text.
type hostKeyVerdict struct {
	Verdict string   `json:"verdict"`
	Kinds   []string `json:"kinds"`
	Reason  string   `json:"reason"`
}

// judgeHostKeys answers with the library by which Flux checks host keys.
func judgeHostKeys() error {
	var cases []hostKeyCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	verdicts := make([]hostKeyVerdict, len(cases))
	for i, c := range cases {
		verdicts[i] = judgeHostKey(c)
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

func judgeHostKey(c hostKeyCase) hostKeyVerdict {
	check, kinds, err := knownhosts.New(c.KnownHosts)
	if err != nil {
		return hostKeyVerdict{Verdict: "bad known hosts", Kinds: []string{}, Reason: err.Error()}
	}
	sort.Strings(kinds)
	if kinds == nil {
		kinds = []string{}
	}
	key, err := ssh.ParsePublicKey(c.Key)
	if err != nil {
		return hostKeyVerdict{Verdict: "bad key", Kinds: kinds, Reason: err.Error()}
	}
	err = check(c.Address, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 22}, key)
	var wrong *upstream.KeyError
	var revoked *upstream.RevokedError
	switch {
	case err == nil:
		return hostKeyVerdict{Verdict: "ok", Kinds: kinds}
	case errors.As(err, &revoked):
		return hostKeyVerdict{Verdict: "revoked", Kinds: kinds, Reason: err.Error()}
	case errors.As(err, &wrong) && len(wrong.Want) == 0:
		return hostKeyVerdict{Verdict: "unknown", Kinds: kinds, Reason: err.Error()}
	case errors.As(err, &wrong):
		return hostKeyVerdict{Verdict: "mismatch", Kinds: kinds, Reason: err.Error()}
	default:
		return hostKeyVerdict{Verdict: err.Error(), Kinds: kinds, Reason: err.Error()}
	}
}

// privateKeyCase is a private key as it stands in a Secret.
type privateKeyCase struct {
	PEM        []byte `json:"pem"`
	Passphrase string `json:"passphrase"`
}

// privateKeyVerdict holds the public half as in authorized_keys, or why there is none.
type privateKeyVerdict struct {
	PublicKey string `json:"publicKey"`
	Error     string `json:"error"`
}

// readPrivateKeys reads keys as Flux's Git client does: with the passphrase only where one is missing.
func readPrivateKeys() error {
	var cases []privateKeyCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	verdicts := make([]privateKeyVerdict, len(cases))
	for i, c := range cases {
		signer, err := ssh.ParsePrivateKey(c.PEM)
		var missing *ssh.PassphraseMissingError
		if errors.As(err, &missing) {
			signer, err = ssh.ParsePrivateKeyWithPassphrase(c.PEM, []byte(c.Passphrase))
		}
		if err != nil {
			verdicts[i].Error = err.Error()
			continue
		}
		verdicts[i].PublicKey = string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

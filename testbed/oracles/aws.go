package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/aws-http-auth/credentials"
	"github.com/aws/smithy-go/aws-http-auth/sigv4"
	v4 "github.com/aws/smithy-go/aws-http-auth/v4"
)

func init() {
	commands["sigv4"] = signRequests
}

// signingCase is a request to sign. With the method GIT it is signed as CodeCommit wants it.
type signingCase struct {
	AccessKeyID     string     `json:"accessKeyId"`
	SecretAccessKey string     `json:"secretAccessKey"`
	SessionToken    string     `json:"sessionToken"`
	Region          string     `json:"region"`
	Service         string     `json:"service"`
	Time            time.Time  `json:"time"`
	Method          string     `json:"method"`
	URL             string     `json:"url"`
	Headers         [][]string `json:"headers"`
	Body            string     `json:"body"`
}

// signRequests answers each case with the text behind "Signature=".
func signRequests() error {
	var cases []signingCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	signatures := make([]string, len(cases))
	for i, c := range cases {
		request, err := http.NewRequest(c.Method, c.URL, bytes.NewReader([]byte(c.Body)))
		if err != nil {
			return err
		}
		if c.Method == "GIT" {
			err = signGit(c, request)
		} else {
			err = signAny(c, request)
		}
		if err != nil {
			return err
		}
		_, signatures[i], _ = strings.Cut(request.Header.Get("Authorization"), "Signature=")
	}
	return json.NewEncoder(os.Stdout).Encode(signatures)
}

// signGit signs by the library, and with the options, by which Flux logs in to CodeCommit.
func signGit(c signingCase, request *http.Request) error {
	request.Body = nil
	request.ContentLength = 0
	signer := sigv4.New(func(o *v4.SignerOptions) {
		o.HeaderRules = hostOnly{}
		o.DisableUnsignedPayloadSentinel = true
		o.CanonicalTimeFormat = "20060102T150405"
	})
	return signer.SignRequest(&sigv4.SignRequestInput{
		Request: request,
		Service: c.Service,
		Region:  c.Region,
		Credentials: credentials.Credentials{
			AccessKeyID:     c.AccessKeyID,
			SecretAccessKey: c.SecretAccessKey,
			SessionToken:    c.SessionToken,
		},
		Time: c.Time,
	})
}

type hostOnly struct{}

func (hostOnly) IsSigned(header string) bool {
	return header == "host"
}

// signAny signs by the SDK.
func signAny(c signingCase, request *http.Request) error {
	for _, header := range c.Headers {
		request.Header.Set(header[0], header[1])
	}
	request.ContentLength = 0
	digest := sha256.Sum256([]byte(c.Body))
	return sdk.NewSigner().SignHTTP(context.Background(), aws.Credentials{
		AccessKeyID:     c.AccessKeyID,
		SecretAccessKey: c.SecretAccessKey,
		SessionToken:    c.SessionToken,
	}, request, hex.EncodeToString(digest[:]), c.Service, c.Region, c.Time)
}

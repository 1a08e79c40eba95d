package main

import (
	"bytes"
	"crypto"
	"crypto/dsa"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"
)

func init() { commands["certificates"] = describeCertificates }

// blockDescription is what a block of PEM says, without what is random.
type blockDescription struct {
	Type        string   `json:"type"`
	Certificate []string `json:"certificate,omitempty"`
	Key         string   `json:"key,omitempty"`
	// Belongs has the numbers of the certificates of the text that hold the public half of the key.
	Belongs []int  `json:"belongs,omitempty"`
	Err     string `json:"err,omitempty"`
}

// describeCertificates reads a list of texts and prints a list of descriptions for each.
func describeCertificates() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	all := make([][]blockDescription, len(texts))
	for i, text := range texts {
		all[i] = describeBlocks([]byte(text))
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

func describeBlocks(text []byte) []blockDescription {
	var blocks []*pem.Block
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		blocks, text = append(blocks, block), rest
	}
	certificates := map[int]*x509.Certificate{}
	for i, block := range blocks {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			certificates[i] = certificate
		}
	}
	descriptions := make([]blockDescription, len(blocks))
	for i, block := range blocks {
		descriptions[i] = describeBlock(i, block, certificates, len(blocks))
	}
	return descriptions
}

func describeBlock(i int, block *pem.Block, all map[int]*x509.Certificate, count int) blockDescription {
	description := blockDescription{Type: block.Type}
	if block.Type == "CERTIFICATE" {
		if all[i] == nil {
			_, err := x509.ParseCertificate(block.Bytes)
			description.Err = fmt.Sprint(err)
			return description
		}
		description.Certificate = describeCertificate(i, all, count)
		return description
	}
	public, text, err := describeKey(block)
	if err != nil {
		description.Err = err.Error()
		return description
	}
	description.Key = text
	for j := range count {
		if all[j] != nil && public != nil && public.Equal(all[j].PublicKey) {
			description.Belongs = append(description.Belongs, j)
		}
	}
	return description
}

type publicKey interface{ Equal(crypto.PublicKey) bool }

func describeKey(block *pem.Block) (publicKey, string, error) {
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		if err != nil {
			return nil, "", err
		}
		again := bytes.Equal(x509.MarshalPKCS1PrivateKey(key), block.Bytes)
		return &key.PublicKey, fmt.Sprint("RSA ", key.N.BitLen(), " ", key.E, " ", again), key.Validate()
	case "EC PRIVATE KEY":
		key, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, "", err
		}
		der, err := x509.MarshalECPrivateKey(key)
		return &key.PublicKey, fmt.Sprint("EC ", key.Params().Name, " ", bytes.Equal(der, block.Bytes)), err
	case "DSA PRIVATE KEY":
		text, err := describeDSA(block.Bytes)
		return nil, text, err
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	signer, _ := key.(crypto.Signer)
	public, _ := signer.Public().(publicKey)
	return public, fmt.Sprintf("%T %t", key, bytes.Equal(der, block.Bytes)), err
}

// describeDSA checks that the numbers make a key.
func describeDSA(der []byte) (string, error) {
	var key struct {
		Version       int
		P, Q, G, Y, X *big.Int
	}
	if _, err := asn1.Unmarshal(der, &key); err != nil {
		return "", err
	}
	again, err := asn1.Marshal(key)
	if err != nil {
		return "", err
	}
	private := dsa.PrivateKey{X: key.X}
	private.Parameters = dsa.Parameters{P: key.P, Q: key.Q, G: key.G}
	private.Y = key.Y
	one := big.NewInt(1)
	rest := new(big.Int).Mod(new(big.Int).Sub(key.P, one), key.Q)
	sound := key.P.ProbablyPrime(8) && key.Q.ProbablyPrime(8) && rest.Sign() == 0 && key.G.Cmp(one) > 0 &&
		new(big.Int).Exp(key.G, key.Q, key.P).Cmp(one) == 0 &&
		new(big.Int).Exp(key.G, key.X, key.P).Cmp(key.Y) == 0 && key.X.Sign() > 0 && key.X.Cmp(key.Q) < 0
	return fmt.Sprint("DSA ", key.Version, " ", key.P.BitLen(), " ", key.Q.BitLen(), " ", sound, " ",
		bytes.Equal(again, der)), nil
}

// describeCertificate has a line for each thing that a certificate says.
func describeCertificate(i int, all map[int]*x509.Certificate, count int) []string {
	certificate := all[i]
	start := time.Since(certificate.NotBefore)
	lines := []string{
		fmt.Sprint("version ", certificate.Version),
		fmt.Sprint("serial number ", certificate.SerialNumber.Sign() > 0, certificate.SerialNumber.BitLen() <= 128,
			certificate.SerialNumber.BitLen() > 64),
		fmt.Sprint("signature ", certificate.SignatureAlgorithm),
		fmt.Sprint("issuer ", hex.EncodeToString(certificate.RawIssuer)),
		fmt.Sprint("subject ", hex.EncodeToString(certificate.RawSubject)),
		fmt.Sprint("starts now ", start > -time.Minute && start < 10*time.Minute),
		fmt.Sprint("hours ", certificate.NotAfter.Sub(certificate.NotBefore).Round(time.Hour).Hours()),
		fmt.Sprint("public key ", describePublic(certificate.PublicKey)),
	}
	// What a key id is made of: the bits of the public key.
	ids := map[string]int{}
	for j := range count {
		if all[j] == nil {
			continue
		}
		var info struct {
			Algorithm asn1.RawValue
			Key       asn1.BitString
		}
		if _, err := asn1.Unmarshal(all[j].RawSubjectPublicKeyInfo, &info); err != nil {
			return append(lines, err.Error())
		}
		sum := sha256.Sum256(info.Key.Bytes)
		id := hex.EncodeToString(sum[:20])
		if _, there := ids[id]; !there {
			ids[id] = j
		}
		if all[j].CheckSignature(certificate.SignatureAlgorithm, certificate.RawTBSCertificate,
			certificate.Signature) == nil {
			lines = append(lines, fmt.Sprint("signed by ", j))
		}
	}
	for _, extension := range certificate.Extensions {
		value := hex.EncodeToString(extension.Value)
		for id, j := range ids {
			value = strings.ReplaceAll(value, id, fmt.Sprint("(key ", j, ")"))
		}
		lines = append(lines, fmt.Sprint(extension.Id, " ", extension.Critical, " ", value))
	}
	return lines
}

func describePublic(key any) string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return fmt.Sprint("RSA ", key.N.BitLen(), " ", key.E)
	case *ecdsa.PublicKey:
		return "EC " + key.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return fmt.Sprintf("%T", key)
}

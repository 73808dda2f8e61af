package audit

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgairlock/pgairlock/internal/secret"
)

// minKey is how many bytes a checkpoint key's secret needs. The public key is in
// every file, and so a short secret could be found by trying.
const minKey = 16

// keyPurpose separates this use of the secret from any other (HKDF's info).
const keyPurpose = "pgairlock audit checkpoint key 1"

// keyPrefix begins a public key as text.
const keyPrefix = "ed25519:"

// privateKey derives the signing key: an Ed25519 seed, HKDF-SHA-256 of the
// secret's text without salt.
func privateKey(key *secret.Secret) (ed25519.PrivateKey, error) {
	text := key.Reveal()
	if len(text) < minKey {
		return nil, fmt.Errorf("audit key %s has %d bytes, it needs %d or more", key, len(text), minKey)
	}
	seed, err := hkdf.Key(sha256.New, []byte(text), nil, keyPurpose, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive audit key from %s: %w", key, err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// PublicKey is the public half of the key that checkpoints are signed with, as
// the files' headers hold it and Verify takes it: "ed25519:" and base64.
func PublicKey(key *secret.Secret) (string, error) {
	private, err := privateKey(key)
	if err != nil {
		return "", err
	}
	return publicText(private), nil
}

func publicText(private ed25519.PrivateKey) string {
	// An ed25519.PrivateKey's public half is always an ed25519.PublicKey.
	public, _ := private.Public().(ed25519.PublicKey)
	return keyPrefix + base64.StdEncoding.EncodeToString(public)
}

// parseKey reads a public key's text.
func parseKey(text string) (ed25519.PublicKey, error) {
	encoded, ok := strings.CutPrefix(text, keyPrefix)
	if !ok {
		return nil, fmt.Errorf("public key does not begin with %q", keyPrefix)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("public key %s is not base64 of %d bytes", text, ed25519.PublicKeySize)
	}
	return raw, nil
}

// checkpointText is what a checkpoint's signature is of.
func checkpointText(chainID string, count int64, head hexHash) []byte {
	text := []byte("pgairlock audit checkpoint 1\n")
	text = append(append(text, chainID...), '\n')
	text = append(strconv.AppendInt(text, count, 10), '\n')
	return append(append(text, head[:]...), '\n')
}

// Head is a place in a chain: a record's number and its hash. Noted where the
// files' owner can't change it, it shows later that nothing was cut off.
type Head struct {
	Record int64  `json:"record"`
	Hash   string `json:"hash"`
}

// String is "NUMBER:HASH", which ParseHead reads.
func (h Head) String() string { return strconv.FormatInt(h.Record, 10) + ":" + h.Hash }

// ParseHead reads "NUMBER:HASH".
func ParseHead(text string) (Head, error) {
	number, hash, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 1 {
		return Head{}, fmt.Errorf("head %q: want NUMBER:HASH", text)
	}
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size || hash != strings.ToLower(hash) {
		return Head{}, fmt.Errorf("head %q: the hash is not %d lower case hexadecimal digits", text, 2*sha256.Size)
	}
	return Head{Record: n, Hash: hash}, nil
}

// Command keys writes what a control plane on this machine needs to be trusted: an authority, a
// certificate for 127.0.0.1, one for an administrator, and a key that signs service accounts.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

func main() {
	folder := os.Args[1]
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "dovetail-tests"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	key := newKey()
	write(folder, "ca", sign(authority, authority, key, key), key)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	administrator := &x509.Certificate{
		SerialNumber: big.NewInt(3),
		Subject:      pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for name, template := range map[string]*x509.Certificate{"server": server, "admin": administrator} {
		own := newKey()
		write(folder, name, sign(template, authority, own, key), own)
	}
	accounts, err := rsa.GenerateKey(rand.Reader, 2048)
	check(err)
	store(folder, "accounts.key", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(accounts))
	public, err := x509.MarshalPKIXPublicKey(&accounts.PublicKey)
	check(err)
	store(folder, "accounts.pub", "PUBLIC KEY", public)
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	return key
}

func sign(template, parent *x509.Certificate, own, signer *ecdsa.PrivateKey) []byte {
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(30 * 24 * time.Hour)
	certificate, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, signer)
	check(err)
	return certificate
}

func write(folder, name string, certificate []byte, key *ecdsa.PrivateKey) {
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	store(folder, name+".crt", "CERTIFICATE", certificate)
	store(folder, name+".key", "PRIVATE KEY", encoded)
}

func store(folder, name, kind string, content []byte) {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	check(os.WriteFile(filepath.Join(folder, name), text, 0o600))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

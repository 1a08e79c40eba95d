package main

import "fmt"

func (p *controlPlane) etcdArguments(clientPort, peerPort int) []string {
	client := fmt.Sprintf("http://127.0.0.1:%d", clientPort)
	peer := fmt.Sprintf("http://127.0.0.1:%d", peerPort)
	return []string{
		"--name=testbed",
		"--data-dir=" + p.layout.etcd(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=testbed=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (p *controlPlane) apiServerArguments(etcdPort, port int) []string {
	arguments := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcdPort),
		fmt.Sprintf("--secure-port=%d", port),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + p.layout.certificate(),
		"--tls-private-key-file=" + p.layout.certificateKey(),
		"--cert-dir=" + p.layout.path("private"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.layout.tokenPublicKey(),
		"--service-account-signing-key-file=" + p.layout.tokenKey(),
		"--token-auth-file=" + p.layout.tokens(),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		"--profiling=false",
	}
	if p.options.audit {
		arguments = append(arguments,
			"--audit-policy-file="+p.layout.auditPolicy(),
			"--audit-log-path="+p.layout.auditLog(),
			"--audit-log-format=json",
			"--audit-log-mode=blocking",
			"--audit-log-maxsize=100000", // megabytes: never rotated away under a reader
		)
	}
	return arguments
}

func (p *controlPlane) controllerManagerArguments(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--service-account-private-key-file=" + p.layout.tokenKey(),
		"--use-service-account-credentials",
		"--leader-elect=false",
		"--root-ca-file=" + p.layout.authority(),
		// kwok renews its node about every minute; the default would take it for lost in between.
		"--node-monitor-grace-period=24h",
		// Tests create and delete many namespaces at once.
		"--concurrent-namespace-syncs=20",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	}
}

func schedulerArguments(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--profiling=false",
	}
}

// startKwok starts the simulated kubelet, with a home of its own so that no personal configuration of the
// person at the keyboard plays in.
func (p *controlPlane) startKwok(kubeconfig string) error {
	arguments := []string{"--kubeconfig=" + kubeconfig, "--manage-all-nodes=true"}
	home := p.layout.path("private", "kwok")
	return p.start("kwok", p.options.kwok, arguments, []string{"HOME=" + home, "KWOK_WORKDIR=" + home})
}

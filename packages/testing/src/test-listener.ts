/** A real port for a test server, with temporary certificates that are never stored. */
import { Listener, type ServerLog } from "@kcp-ts/apiserver";
import type { Handle } from "@kcp-ts/controlplane";
import { systemClock } from "@kcp-ts/machinery/base";
import { serverNames } from "@kcp-ts/multicluster";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  exportKey,
  generateKey,
  issueCertificate,
} from "@kcp-ts/pki";

export interface ListenOptions {
  /** A free port if omitted. */
  readonly port?: number;
  /** The loopback address if omitted. */
  readonly host?: string;
}

export interface TestListener {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The CA certificate that clients must trust. */
  readonly caPem: string;
  close(): Promise<void>;
}

export interface TestCertificates {
  readonly authority: CertificateAuthority;
  readonly caPem: string;
}

export function createTestCertificates(): TestCertificates {
  // Clients check certificates by the real time, whatever the test's clock shows.
  const now = systemClock.now();
  const authority = createCertificateAuthority({ commonName: "kcp-test", now });
  return { authority, caPem: authority.certificatePem };
}

export interface TestListenerOptions extends ListenOptions {
  readonly handle: Handle;
  readonly certificates: TestCertificates;
  readonly log: ServerLog;
}

export async function listenForTests(options: TestListenerOptions): Promise<TestListener> {
  const { handle, certificates, log, port = 0, host = "127.0.0.1" } = options;
  const key = generateKey();
  const { certificatePem } = issueCertificate({
    authority: certificates.authority,
    subject: { commonName: "kcp-test" },
    purposes: ["serverAuth"],
    hostnames: [...new Set(["localhost", "127.0.0.1", "::1", host, ...serverNames])],
    key,
    now: systemClock.now(),
  });
  const listener = new Listener({
    host,
    port,
    tls: { certificatePem, privateKeyPem: exportKey(key) },
    handle,
    onDebug: (message, error) => log.debug({ err: error }, message),
  });
  const address = await listener.listen();
  return {
    url: `https://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    host,
    port: address.port,
    caPem: certificates.caPem,
    close: () => listener.drain(AbortSignal.abort()),
  };
}

/**
 * The socket below a connection.
 *
 * Node's HTTP/2 client can create its own socket, but then errors after the handshake (a server
 * that rejects the client certificate in TLS 1.3, for one) are lost and the session hangs.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Endpoint } from "./endpoint.ts";

export interface TlsOptions {
  readonly ca?: string | Uint8Array | undefined;
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  /** The name that the server's certificate must have, when it is not the endpoint's host. */
  readonly serverName?: string | undefined;
}

export function dial({ url, secure, socketPath }: Endpoint, tls: TlsOptions = {}): Socket {
  if (socketPath !== undefined) return connectTcp({ path: socketPath });
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (secure ? 443 : 80));
  if (!secure) return connectTcp({ host, port, noDelay: true });
  const { ca, cert, key, serverName } = tls;
  const name = serverName ?? (isIP(host) === 0 ? host : undefined);
  return connectTls({
    host,
    port,
    ALPNProtocols: ["h2"],
    minVersion: "TLSv1.2",
    ...(name === undefined ? {} : { servername: name }),
    ...(ca === undefined ? {} : { ca: pem(ca) }),
    ...(cert === undefined ? {} : { cert: pem(cert) }),
    ...(key === undefined ? {} : { key: pem(key) }),
  });
}

function pem(value: string | Uint8Array): string | Buffer {
  return typeof value === "string" ? value : Buffer.from(value);
}
